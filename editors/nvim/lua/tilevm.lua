-- In init.lua: vim.opt.runtimepath:append(".../editors/nvim"); require("tilevm").setup()
-- For Neovim 0.7 or later.
local M = {}

-- One server for all buffers of a folder. Neovim 0.7 has no vim.lsp.start.
local function start(buffer, config)
  if vim.lsp.start then return vim.lsp.start(config, { bufnr = buffer }) end
  for _, client in pairs(vim.lsp.get_active_clients()) do
    if client.name == config.name and client.config.root_dir == config.root_dir then
      return vim.lsp.buf_attach_client(buffer, client.id)
    end
  end
  local id = vim.lsp.start_client(config)
  if id then vim.lsp.buf_attach_client(buffer, id) end
end

function M.setup(options)
  options = options or {}
  local program = options.program or "tilevm"
  if not vim.api.nvim_create_autocmd then
    vim.notify("tilevm: the set-up needs Neovim 0.7 or later", vim.log.levels.WARN)
    return
  end
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "tilevm",
    callback = function(event)
      vim.bo[event.buf].commentstring = "# %s"
      vim.bo[event.buf].expandtab = true
      vim.bo[event.buf].shiftwidth = 4
      start(event.buf, {
        name = "tilevm",
        cmd = { program, "lsp" },
        root_dir = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(event.buf), ":p:h"),
        init_options = { target = options.target, defines = options.defines },
      })
    end,
  })
  vim.lsp.commands["tilevm.run"] = function(command)
    local words = { program, "run", vim.uri_to_fname(command.arguments[1]), "--entry", command.arguments[2] }
    vim.cmd("split | terminal " .. table.concat(vim.tbl_map(function(word)
      return vim.fn.escape(vim.fn.shellescape(word), "%#|")
    end, words), " "))
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
