-- In init.lua: vim.opt.runtimepath:append(".../editors/nvim"); require("tilevm").setup()
local M = {}

function M.setup(options)
  options = options or {}
  local program = options.program or "tilevm"
  if not vim.lsp.start then
    vim.notify("tilevm: the language server needs Neovim 0.8 or later", vim.log.levels.WARN)
    return
  end
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "tilevm",
    callback = function(event)
      vim.bo[event.buf].commentstring = "# %s"
      vim.bo[event.buf].expandtab = true
      vim.bo[event.buf].shiftwidth = 4
      vim.lsp.start({
        name = "tilevm",
        cmd = { program, "lsp" },
        root_dir = vim.fs.dirname(vim.api.nvim_buf_get_name(event.buf)),
        init_options = { target = options.target, defines = options.defines },
      })
    end,
  })
  vim.lsp.commands["tilevm.run"] = function(command)
    local words = { program, "run", vim.uri_to_fname(command.arguments[1]), "--entry", command.arguments[2] }
    vim.cmd.split()
    vim.cmd.terminal(table.concat(vim.tbl_map(vim.fn.shellescape, words), " "))
  end
  local found, dap = pcall(require, "dap") -- nvim-dap, if it is there
  if found then
    dap.adapters.tilevm = { type = "executable", command = program, args = { "dap" } }
    dap.configurations.tilevm = {
      { type = "tilevm", request = "launch", name = "this program", program = "${file}", stopOnEntry = true },
    }
    vim.lsp.commands["tilevm.debug"] = function(command)
      dap.run(vim.tbl_extend("force", dap.configurations.tilevm[1], {
        program = vim.uri_to_fname(command.arguments[1]), entry = command.arguments[2] }))
    end
  end
end

return M
