-- nvim --clean --headless -l main_job.lua CONFIG.json
-- A bare Neovim, no plugin: attaches the host, changes a buffer, runs the agent and answers its
-- questions through vim.ui.select; then takes the edit back with one undo. Prints what happened as JSON.
local config = vim.json.decode(assert(io.open(arg[1])):read('a'))
local seen = { questions = {}, deltas = {}, notices = {} }

vim.ui.select = function(items, opts, choose)
  local titles = vim.tbl_map(opts.format_item or function(item) return item.title end, items)
  table.insert(seen.questions, { prompt = opts.prompt, titles = titles })
  vim.schedule(function()
    for index, item in ipairs(items) do
      if vim.startswith(item.title, config.answer) then return choose(item, index) end
    end
    choose(nil, nil)
  end)
end
vim.notify = function(text) table.insert(seen.notices, text) end
vim.lsp.handlers['agent/delta'] = function(_, params) table.insert(seen.deltas, params) end

vim.cmd('filetype on')
vim.o.hidden = true
vim.lsp.config('agent', { cmd = config.command, root_dir = config.root, filetypes = { 'python' } })
vim.lsp.enable('agent')

local function text(buffer) return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') end

vim.cmd.edit(config.file)
local client
assert(vim.wait(20000, function()
  client = vim.lsp.get_clients({ name = 'agent', bufnr = 0 })[1]
  return client and client.initialized
end, 10), 'the host did not start')
local buffer = vim.api.nvim_get_current_buf()
vim.api.nvim_buf_set_text(buffer, 0, 0, 0, 0, config.typed)
vim.cmd('let &undolevels = &undolevels') -- what a key press does
seen.before = text(buffer)

local done
local function answered(err, result)
  done, seen.error, seen.result = true, err and err.message, result
end
if config.way == 'command' then
  client:exec_cmd({ title = 'run', command = 'agentHost.run', arguments = { config.run } }, { bufnr = buffer }, answered)
else
  client:request('agent/run', config.run, answered, buffer)
end
assert(vim.wait(40000, function() return done end, 10), 'the run did not end: ' .. vim.json.encode(seen))

seen.after = text(buffer)
seen.modified = vim.bo[buffer].modified
vim.cmd('silent undo')
seen.undone = text(buffer)
seen.encoding = client.offset_encoding
client:stop()
seen.stopped = vim.wait(10000, function() return client:is_stopped() end, 10)
io.stdout:write(vim.json.encode(seen), '\n')
vim.cmd('qa!')
