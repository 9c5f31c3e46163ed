-- A transcript is read without a host: its names, its keys, the places that it leads to.
local stage = dofile(arg[2])
local config, say, tell = stage.config, stage.say, stage.tell
require('agent_host').setup({ cmd = { '/nowhere/agent-host' } })
local deltas, session = require('agent_host.deltas'), require('agent_host.session')

local DIFF = table.concat({
  '--- a/tidy.py',
  '+++ b/tidy.py',
  '@@ -1,2 +1,3 @@',
  ' one',
  '+--- two',
  '+++ three',
  '-two',
  '@@ -20 +21,0 @@',
  '-twenty',
  '--- a/lib/gone.py',
  '+++ /dev/null',
  '@@ -1 +0,0 @@',
  '-gone',
  '\\ No newline at end of file',
}, '\n')

-- ---- names

vim.cmd.edit(config.file)
vim.cmd('AgentHost')
local target = session.current()
target.id = 's'
local function named(buffer) return vim.fs.basename(vim.api.nvim_buf_get_name(buffer)) end
say('new', { named(target.transcript.buffer), named(target.prompt) })
target:call('mend a/b\n' .. string.char(27) .. '[31m100%')
say('called', { named(target.transcript.buffer), named(target.prompt) })
local other = session.new(target.root)
other:call(target.title)
say('another of this title', named(other.transcript.buffer))
session.forget(other)
session.make_current(target)
say('left behind', vim.tbl_filter(function(each)
  return vim.api.nvim_buf_get_name(each):find('new session', 1, true) ~= nil
end, vim.api.nvim_list_bufs()))
say('status line', vim.api.nvim_eval_statusline('%f', { winid = vim.fn.bufwinid(target.transcript.buffer) }).str)

-- ---- the line above the prompt

local function winbar() return vim.api.nvim_eval_statusline(require('agent_host.panel').winbar(), { winid = vim.fn.bufwinid(target.prompt), maxwidth = 90 }).str end
say('idle', winbar())
tell({ kind = 'started', role = 'coder', model = 'm', runtime = 'sdk' })
tell({ kind = 'usage', usage = { requests = 1, inputTokens = 1234, outputTokens = 5, contextTokens = 500, contextWindow = 2000 } })
deltas.flush()
say('working', winbar())

-- ---- from speaker to speaker, and to files

tell({ kind = 'text', text = 'See `tidy.py:2` or tidy.py, none.py:3 not.\n' })
tell({ kind = 'toolCall', callId = '1', name = 'x', title = 'Change ' .. config.file, risk = 'low', arguments = { path = config.file } })
tell({ kind = 'edit', callId = '1', uri = vim.uri_from_fname(config.file), diff = DIFF, state = 'applied' })
tell({ kind = 'toolResult', callId = '1', status = 'denied', summary = 'Denied: The user says: ' .. ('so '):rep(60) .. 'no' })
tell({ kind = 'diff', text = DIFF, omitted = { { uri = 'file:///big.bin', reason = 'too large' } } })
tell({ kind = 'ended', status = 'completed' })
tell({ kind = 'text', text = 'Listen.' }, { origin = { kind = 'user' } })
deltas.flush()
say('transcript', stage.transcript())
local reader = vim.fn.bufwinid(target.transcript.buffer)
vim.fn.writefile(vim.fn['repeat']({ 'line' }, 40), config.file)
vim.api.nvim_win_call(vim.fn.bufwinid(config.file), function() vim.cmd('edit!') end)

---Put the cursor on words of the transcript, type, and say where that led; back again.
local function from(words, keys)
  vim.api.nvim_set_current_win(reader)
  vim.api.nvim_win_set_cursor(reader, { 1, 0 })
  vim.fn.search('\\V' .. vim.fn.escape(words, '\\'))
  stage.type(keys)
  return { named(0), vim.fn.line('.'), #vim.api.nvim_list_wins() }
end
say('a path with a line', from('tidy.py:2', 'gd'))
say('the first path of a line', from('See', '<CR>'))
say('a tool', from('● Change', 'gf'))
say('an added line', from('▎ +++ three', '<CR>'))
say('a removed line far below', from('▎ -twenty', '<CR>'))
stage.notices = {}
say('nothing', { from('Listen.', '<CR>')[1], #stage.notices })
say('speakers', { from('coder', ']]')[2], from('Listen.', '2[[')[2] })
say('into the prompt', from('coder', 'i')[1])

-- ---- the changes

vim.cmd('AgentHost changes')
local list = vim.fn.getqflist({ title = 0, items = 0 })
say('list', { list.title, vim.tbl_map(function(each)
  return { vim.fn.bufname(each.bufnr), each.lnum, each.text }
end, list.items) })
vim.cmd('cclose | AgentHost diff')
say('diff', named(0))
vim.fn.search('-twenty')
stage.type('<CR>')
say('from the diff', { named(0), vim.fn.line('.') })

-- ---- completion, and the help of a plugin whose tags nobody has made

vim.cmd('AgentHost')
say('omnifunc', vim.bo.omnifunc ~= '' and vim.bo.omnifunc == vim.bo.completefunc)
vim.cmd('AgentHost help')
say('help', { vim.bo.syntax, named(0) })
say('notices', stage.notices)
stage.report()
