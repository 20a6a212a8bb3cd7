;;; eglot_test.el --- tilevm lsp under Emacs's eglot  -*- lexical-binding: t -*-
;;; Commentary:
;; emacs --batch -l tests/editors/eglot_test.el TILEVM
;; Exit status: 0 all well, 1 a test failed, 77 this Emacs has no eglot (Debian: elpa-eglot).
;;; Code:

(package-initialize)
(unless (require 'eglot nil t) (kill-emacs 77))

(defvar tested-program (expand-file-name (pop command-line-args-left)))
(add-to-list 'load-path
             (expand-file-name "../../editors/emacs" (file-name-directory load-file-name)))
(defvar tilevm-program tested-program)
(require 'tilevm-mode)

(defun check (what holds)
  (message "%s: %s" (if holds "ok" "FAILED") what)
  (unless holds (kill-emacs 1)))

(defun ask (method &rest more)
  (jsonrpc-request (eglot-current-server) method (append (eglot--TextDocumentPositionParams) more)))

(defun go-to (text)
  (goto-char (point-min))
  (search-forward text)
  (backward-char 2))

(let* ((folder (make-temp-file "tilevm" t)) (file (expand-file-name "p.tile" folder)))
  (with-temp-file file
    (insert "const N, BM = 64, 16\n\ndef scale<N / BM>(f16* a_ptr, f16* c_ptr):\n"
            "    i = BlockIndices()\n    ga = ViewGlobal(a_ptr, dtype=f16, shape=[N])\n"
            "    gc = ViewGlobal(c_ptr, dtype=f16, shape=[N])\n"
            "    a = LoadGlobal(ga, layout=spatal(16), offset=[i * BM:])\n"
            "    StoreGlobal(Add(a,a), gc, offset=[i * BM:])\n"))
  (find-file file)
  (check "the file's mode" (eq major-mode 'tilevm-mode))
  (font-lock-ensure)
  (go-to "ViewGlobal")
  (check "an instruction has a face" (eq (get-text-property (point) 'face) 'font-lock-builtin-face))
  (apply #'eglot (eglot--guess-contact))
  (flymake-mode 1)
  (with-timeout (60 (check "diagnostics arrive" nil))
    (while (null (flymake-diagnostics)) (accept-process-output nil 0.1) (flymake-start)))
  (check "the diagnostic names the fix"
         (string-match-p "did you mean `spatial`" (flymake-diagnostic-text (car (flymake-diagnostics)))))
  (go-to "spatal")
  (let* ((place (eglot--pos-to-lsp-position))
         (actions (jsonrpc-request (eglot-current-server) :textDocument/codeAction
                                   (list :textDocument (eglot--TextDocumentIdentifier)
                                         :range (list :start place :end place)
                                         :context (list :diagnostics [])))))
    (check "a quick fix" (equal (plist-get (aref actions 0) :title) "Replace by `spatial`"))
    (eglot--apply-workspace-edit (plist-get (aref actions 0) :edit)))
  (check "the fix is applied" (progn (goto-char (point-min)) (search-forward "spatial(16)" nil t)))
  (go-to "LoadGlobal")
  (check "hover" (string-match-p "LoadGlobal(src"
                                 (plist-get (plist-get (ask :textDocument/hover) :contents) :value)))
  (go-to "LoadGlobal(ga")
  (xref-find-definitions "ga")
  (check "definition" (= (line-number-at-pos) 5))
  (eglot-rename "input")
  (check "rename" (= (count-matches "input" (point-min) (point-max)) 2))
  (check "completion" (member "Cast" (all-completions "Ca" (nth 2 (eglot-completion-at-point)))))
  (eglot-format-buffer)
  (check "format" (progn (goto-char (point-min)) (search-forward "Add(a, a)" nil t)))
  (set-buffer-modified-p nil)
  ;; A function of an included file: its definition, and a new name in both files.
  (let ((library (expand-file-name "lib.tile" folder)) (user (expand-file-name "user.tile" folder)))
    (with-temp-file library (insert "def double(x) -> tile:\n    return Add(x, x)\n"))
    (with-temp-file user
      (insert "include \"lib.tile\"\n\ndef f<1>(f16* c_ptr):\n"
              "    a = double(AllocateRegister(f16, layout=spatial(32), init=1.0))\n"
              "    StoreGlobal(a, ViewGlobal(c_ptr, shape=[32]))\n"))
    (find-file user)
    (go-to "double")
    (xref-find-definitions "double")
    (check "a definition in another file" (equal (file-name-nondirectory buffer-file-name) "lib.tile"))
    (find-file user)
    (go-to "double")
    (eglot-rename "twice")
    (check "a new name where it is used" (save-excursion (goto-char (point-min)) (search-forward "twice(" nil t)))
    (with-current-buffer (find-file-noselect library)
      (check "a new name where it is defined" (progn (goto-char (point-min)) (search-forward "def twice(x)" nil t)))
      (set-buffer-modified-p nil))
    (set-buffer-modified-p nil))
  (eglot-shutdown (eglot-current-server))
  (delete-directory folder t))
;;; eglot_test.el ends here
