#include <stdio.h>
#include <tilevm.h>

int main(void) {
  const char* const text =
      "def add<1>(f32* a_ptr, f32* c_ptr):\n"
      "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[3]), layout=local(3))\n"
      "    StoreGlobal(a + 1, ViewGlobal(c_ptr, shape=[3]))\n";
  tilevm_program* program;
  if (tilevm_open(text, "add.tile", NULL, NULL, &program) != TILEVM_OK) {
    fputs(tilevm_message(), stderr);
    return 1;
  }
  float a[3] = {1, 2, 3}, c[3] = {0};
  const tilevm_argument arguments[] = {{a, sizeof a}, {c, sizeof c}};
  if (tilevm_run(program, NULL, "sim", arguments, 2) != TILEVM_OK) {
    fputs(tilevm_message(), stderr);
    return 1;
  }
  tilevm_close(program);
  printf("%g %g %g\n", c[0], c[1], c[2]);
  return 0;
}
