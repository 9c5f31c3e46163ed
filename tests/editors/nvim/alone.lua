-- The plugin without a host: what it makes of deltas, hostile ones too, of questions and of requests
-- that are put to its handlers as the client would put them.
local stage = dofile(arg[2])
local config, say = stage.config, stage.say
local HANDLERS, tell = stage.handlers(), stage.tell
local deltas, session = require('agent_host.deltas'), require('agent_host.session')
local question = require('agent_host.question')
require('agent_host').setup({ cmd = { '/nowhere/agent-host' } })

local function shown()
  deltas.flush()
  return stage.transcript()
end

-- ---- what a model may say

vim.cmd('AgentHost')
local target = session.current()
target.id = 's'
local ESC = string.char(27)
local HOSTILE = table.concat({
  ESC .. '[31mred' .. ESC .. '[0m ' .. ESC .. ']0;title\7 ' .. ESC .. 'Pq' .. ESC .. '\\ \0 \b\b \r back \127 \194\155 end',
  'right to left: \226\128\174abc, tag: \243\160\129\129',
  'vim: set modeline ts=1 foldexpr=execute("let\\ g:owned=1") :',
  '%{execute("let g:owned = 1")} %#Error# %@x@',
  '▏ not of a tool',
  '```',
  ('x'):rep(300000) .. 'ü',
}, '\n')
target.title = HOSTILE
tell({ kind = 'started', role = '%{execute("let g:owned = 1")}', model = HOSTILE, runtime = 'sdk' })
tell({ kind = 'text', text = HOSTILE })
tell({ kind = 'toolCall', callId = '1', name = 'x', title = HOSTILE, risk = 'low', arguments = { [HOSTILE] = HOSTILE, n = 1 } })
tell({ kind = 'toolOutput', callId = '1', stream = 'stdout', text = HOSTILE })
tell({ kind = 'edit', callId = '1', uri = 'file:///x', diff = HOSTILE, state = 'proposed' })
tell({ kind = 'toolResult', callId = '1', status = 'failed', summary = HOSTILE })
tell({ kind = 'text', text = 'After it.' })
tell({ kind = 'plan', entries = { { text = HOSTILE, status = 'pending' }, { text = 'two', status = 'inProgress' } } })
tell({ kind = 'plan', entries = { { text = 'only one', status = 'completed' } } })
tell({ kind = 'log', source = HOSTILE, text = HOSTILE })
tell({ kind = 'retry', reason = HOSTILE, waitSeconds = 2 })
tell({ kind = 'compacted', why = 'full', before = 12000, after = 900, summary = HOSTILE })
tell({ kind = 'omitted', what = HOSTILE, size = 3 })
tell({ kind = 'reasoning', text = HOSTILE })
tell({ kind = 'usage', usage = { requests = 1, inputTokens = 1234, outputTokens = 5, costUsd = 0.5 } })
local hostile = shown()
say('control characters', hostile:find('[%z\1-\8\11-\31\127]') ~= nil)
say('bidi', hostile:find('\226\128\174', 1, true) ~= nil)
local longest = 0
for _, line in ipairs(vim.split(hostile, '\n')) do
  longest = math.max(longest, #line)
end
say('longest line', longest)
say('all of it', select(2, hostile:gsub('x', '')) >= 300000)
say('fence closed', hostile:find('ü\n```\n\n●', 1, true) ~= nil)
say('passes for a tool', hostile:find('\n ▏ not of a tool', 1, true) == nil)
local bar = vim.api.nvim_eval_statusline(require('agent_host.panel').winbar(), { winid = 0 })
say('winbar', bar.str)
vim.cmd('redraw')
say('owned', vim.g.owned ~= nil)
say('plan', hostile:find('☑ only one', 1, true) ~= nil and hostile:find('two', 1, true) == nil)
tell({ kind = 'diff', text = '--- a\n+++ b\n' .. HOSTILE, omitted = { { uri = 'file:///y', reason = HOSTILE } } })
tell({ kind = 'ended', status = 'failed', reason = HOSTILE })
say('changed', shown():find('Δ 2 files changed', 1, true) ~= nil)
say('ended', session.current():state())
vim.cmd('AgentHost diff')
say('diff', stage.text(0):find('[%z\1-\8\11-\31\127]') ~= nil)
vim.cmd('bwipeout!')
vim.cmd('AgentHost log')
say('log', stage.text(0):find('[%z\1-\8\11-\31\127]') ~= nil)
vim.cmd('bwipeout!')

-- ---- much of it

local began, clock = vim.uv.hrtime(), os.clock()
tell({ kind = 'started', role = 'coder', model = 'm', runtime = 'sdk' }, { runId = 'much' })
tell({ kind = 'toolCall', callId = '2', name = 'x', title = 'Run it', risk = 'low', arguments = {} }, { runId = 'much' })
local flushed = os.clock()
for index = 1, 5000 do
  local kind = index % 10 == 0 and { kind = 'toolOutput', callId = '2', stream = 'stdout', text = 'line ' .. index .. '\n' }
  tell(kind or { kind = 'text', text = 'word ' .. (index % 15 == 0 and '\n\n' or '') }, { runId = 'much' })
  if index % 20 == 0 then deltas.flush() end
end
deltas.flush()
say('cpu ms per delta', (os.clock() - flushed) * 1000 / 5000)
say('seconds', (vim.uv.hrtime() - began) / 1e9)
tell({ kind = 'toolResult', callId = '2', status = 'ok', summary = 'fine' }, { runId = 'much' })
tell({ kind = 'ended', status = 'completed' }, { runId = 'much' })
local much = shown()
say('output', { much:find('line 10\n', 1, true) ~= nil, much:find('… 100 lines left out …', 1, true) ~= nil, much:find('line 5000', 1, true) ~= nil })
say('words', select(2, much:gsub('word ', '')))

-- ---- questions: in their order, each answered once

local OPTIONS = {
  { id = 'deny', title = 'Deny', kind = 'deny' },
  { id = 'once', title = 'Allow once', kind = 'allowOnce' },
  { id = 'session', title = 'Allow for this session', kind = 'allowSession' },
}
local function ask(run, call, more)
  local asked = {}
  local params = { sessionId = 's', runId = run, callId = call, title = 'May I ' .. call, detail = HOSTILE, diff = '+a\n-b', options = OPTIONS, allowsReason = true }
  coroutine.wrap(function()
    asked.answer = HANDLERS['agent/ask'](nil, vim.tbl_extend('force', params, more or {}), { client_id = 7 })
  end)()
  return asked
end
local function window_of(call)
  stage.wait('the question ' .. call, function()
    local now = question.current()
    return now and now.params.callId == call and now.focus and #stage.floats() == 1
  end)
  return question.current()
end

local asks = { ask('one', 'a'), ask('two', 'b'), ask('two', 'c'), ask('three', 'd'), ask('four', 'e') }
window_of('a').focus()
say('count in the title', vim.inspect(vim.api.nvim_win_get_config(0).title):find('1 of 5', 1, true) ~= nil)
say('control characters in a question', stage.text(0):find('[%z\1-\8\11-\31\127]') ~= nil)
stage.type('2')
window_of('b').focus()
stage.type('A')
window_of('c').focus()
tell({ kind = 'answer', callId = 'c', reason = 'the run was stopped' }, { runId = 'two' })
window_of('d').focus()
vim.cmd('close')
window_of('e')
question.host_ended(7)
say('answers', vim.tbl_map(function(each) return each.answer end, asks))
say('floats', #stage.floats())

local PARTS = {
  { id = 'p1', title = 'a.py', uri = 'file:///a.py', diff = '+a' },
  { id = 'p2', title = 'b.py', uri = 'file:///b.py', diff = '-b' },
}
local partly = ask('parts', 'p', { parts = PARTS })
window_of('p').focus()
vim.fn.search('b.py')
stage.type('<Space>')
say('parts', stage.text(0):match('%[x%] a.py\n %[ %] b.py'))
stage.type('2')
say('partly', partly.answer)

-- ---- while somebody types, and by vim.ui.select

vim.cmd('wincmd t')
vim.cmd('enew')
local here = vim.api.nvim_get_current_win()
local typed = ask('five', 'f')
window_of('f')
say('keyboard stays', vim.api.nvim_get_current_win() == here)
vim.cmd('AgentHost deny not now, please')
say('denied by command', typed.answer)
local picked = {}
vim.ui.select = function(items, opts, choose)
  picked = vim.tbl_map(opts.format_item, items)
  choose(items[4], 4)
end
require('agent_host').setup({ cmd = { '/nowhere/agent-host' }, ask = 'select' })
local selected = ask('six', 'g')
stage.wait('an answer by vim.ui.select', function() return selected.answer end)
say('picked', picked)
say('selected', selected.answer)
vim.ui.select = function(_, _, choose) choose(nil) end
local dismissed = ask('seven', 'h')
stage.wait('a dismissed select', function() return dismissed.answer end)
say('dismissed', dismissed.answer)

-- ---- requests

vim.cmd.edit(config.file)
local file = vim.api.nvim_get_current_buf()
local uri = vim.uri_from_bufnr(file)
local space = vim.api.nvim_create_namespace('somebody')
vim.diagnostic.set(space, file, { { lnum = 0, col = 1, end_col = 4, severity = 2, message = 'odd', source = 'somebody' } })
say('diagnostics', HANDLERS['agent/diagnostics'](nil, { uri = uri }, { client_id = 7 }))
vim.api.nvim_buf_set_lines(file, 0, 0, false, { 'typed' })
say('saved', HANDLERS['agent/save'](nil, { uris = { uri, 'file:///not/open' } }, { client_id = 7 }))
say('on disk', table.concat(vim.fn.readfile(config.file), '\n'))
vim.api.nvim_buf_set_lines(file, 0, 1, false, { 'typed again' })
vim.uv.sleep(20)
vim.fn.writefile({ 'somebody else, and longer' }, config.file)
say('saved over', HANDLERS['agent/save'](nil, { uris = { uri } }, { client_id = 7 }))
say('kept on disk', table.concat(vim.fn.readfile(config.file), '\n'))

-- ---- the command line, files in the prompt, the host that is not there

say('completion', vim.fn.getcompletion('AgentHost s', 'cmdline'))
say('commands', require('agent_host.commands').names())
local mentions = require('agent_host.mentions')
vim.fn.writefile({ 'x' }, config.root .. '/a file.py')
local NAMES = 'see @tidy.py, @../outside and @none. (@tidy.py:3-9) @"a file.py":2, @tidy.py:4'
say('mentioned', mentions.mentioned(config.root, NAMES))
say('mentions', { mentions.of(config.root, config.root .. '/a file.py', 3, 9), mentions.of(config.root, config.file, 2, 2) })
say('no mention', mentions.of(config.root, '/elsewhere/a.py') == nil)
stage.notices = {}
vim.notify = function(words) table.insert(stage.notices, words) end
vim.cmd('AgentHost nonsense')
vim.cmd('AgentHost send hello')
say('not found', shown():match('✗ (agent%-host is not found[^\n]*)'))
require('agent_host').setup({ window = { position = 'up' }, colour = 1 })
say('complaints', stage.notices)
say('links', vim.tbl_keys(require('agent_host.highlights').links))
local wire = require('agent_host.wire')
say('wire', { requests = wire.requests, answers = wire.answers, notifications = wire.notifications, commands = wire.commands })
say('kinds', vim.tbl_keys(require('agent_host.render').kinds))
stage.report()
