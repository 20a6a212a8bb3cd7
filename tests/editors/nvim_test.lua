-- The set-up of editors/nvim under a headless Neovim 0.7 or later: `nvim --headless -u NONE -S nvim_test.lua`, with TILEVM,
-- EDITORS and PROGRAM in the environment.
local function finish(text, status)
  io.stdout:write(text .. "\n")
  vim.cmd(status == 0 and "qall!" or "cquit")
end

local function test()
  vim.opt.runtimepath:append(vim.env.EDITORS .. "/nvim")
  vim.cmd("filetype on | syntax on")
  require("tilevm").setup({ program = vim.env.TILEVM })
  vim.cmd("edit " .. vim.env.PROGRAM)
  assert(vim.bo.filetype == "tilevm", "the filetype is " .. vim.bo.filetype)
  assert(vim.bo.commentstring == "# %s")
  local row = vim.fn.search("LoadGlobal")
  local group = vim.fn.synIDattr(vim.fn.synID(row, vim.fn.match(vim.fn.getline(row), "LoadGlobal") + 1, 1), "name")
  assert(group == "tilevmInstruction", "LoadGlobal has the group " .. group)
  local function clients()
    return vim.tbl_values(vim.lsp.buf_get_clients(0))
  end
  assert(vim.wait(20000, function() return #clients() == 1 and clients()[1].initialized end, 50), "no server")
  local params = vim.lsp.util.make_position_params()
  params.position = { line = row - 1, character = vim.fn.match(vim.fn.getline(row), "LoadGlobal") + 1 }
  local answers = vim.lsp.buf_request_sync(0, "textDocument/hover", params, 20000)
  assert(answers and vim.inspect(answers):find("LoadGlobal"), "no hover: " .. vim.inspect(answers))
  vim.api.nvim_buf_set_lines(0, row - 1, row, false, { "    a = LoadGlobl(ga)" })
  assert(vim.wait(20000, function()
    return vim.inspect(vim.diagnostic.get(0)):find("LoadGlobl") ~= nil
  end, 50), "no diagnostic: " .. vim.inspect(vim.diagnostic.get(0)))
  vim.cmd("split " .. vim.env.PROGRAM .. ".other.tile")
  assert(vim.wait(20000, function() return #clients() == 1 end, 50), "another buffer has no server")
  assert(#vim.lsp.get_active_clients() == 1, "each buffer has a server of its own")
  assert(vim.lsp.commands["tilevm.run"], "no command to run")
end

local ok, problem = pcall(test)
finish(ok and "no fault" or tostring(problem), ok and 0 or 1)
