-- A person's first hour: a prompt, questions answered by keys, an edit undone, a denial with a reason,
-- stop in mid-stream and while asking, something said meanwhile, a restart and what was said before.
local stage = dofile(arg[2])
local config, say = stage.config, stage.say
say('lazy', package.loaded['agent_host'] == nil and package.loaded['agent_host.commands'] == nil)
stage.setup({ settings = { trust = 'always' } })

vim.cmd.edit(config.file)
local file = vim.api.nvim_get_current_buf()
vim.api.nvim_buf_set_text(file, 0, 0, 0, 0, config.typed)
local before = stage.text(file)
local events = {}
vim.api.nvim_create_autocmd('User', {
  pattern = { 'AgentHostDelta', 'AgentHostQuestion', 'AgentHostAnswered', 'AgentHostRunEnded' },
  callback = function(event) events[event.match] = (events[event.match] or 0) + 1 end,
})

-- ---- a prompt, a question with its diff, allowed; the edit and one undo

vim.cmd('AgentHost')
stage.type('itidy up<C-s><Esc>')
local question = stage.asked()
say('float', #stage.floats())
say('question', stage.text(vim.api.nvim_win_get_buf(stage.floats()[1])))
say('first line under the cursor', vim.api.nvim_win_call(stage.floats()[1], vim.api.nvim_get_current_line))
say('asking', stage.session():state())
say('statusline', require('agent_host').statusline())
question.came = vim.uv.now()
stage.type('a')
say('key that came too early', question.over and 'answered' or 'not answered')
question.focus()
stage.type('a')
stage.wait('the second question', function()
  local now = require('agent_host.question').current()
  return now and now ~= question and now.focus
end)
say('edited', stage.text(file))
vim.cmd('AgentHost allow')
stage.idle()
say('floats left', #stage.floats())
say('first transcript', stage.transcript())
say('first marks', stage.marks(stage.session().transcript.buffer))
vim.api.nvim_buf_call(file, function() vim.cmd('silent undo') end)
say('undone', stage.text(file) == before)
say('ran', vim.uv.fs_stat(config.root .. '/ran') ~= nil)
say('folded', vim.api.nvim_win_call(vim.fn.bufwinid(stage.session().transcript.buffer), function()
  vim.cmd('normal! zx')
  local closed = 0
  for line = 1, vim.fn.line('$') do
    if vim.fn.foldclosed(line) == line then closed = closed + 1 end
  end
  return closed
end))

-- ---- denied, with a reason

vim.cmd('AgentHost models ' .. config.scripts.denied)
vim.cmd('AgentHost send change it')
question = stage.asked()
vim.ui.input = function(_, done) done('use tabs in this file') end
question.focus()
stage.type('r')
stage.shows('The reason has come.')
stage.idle()
say('unchanged after a denial', stage.text(file) == before)

-- ---- the window closed: denied, once

vim.cmd('AgentHost models ' .. config.scripts.denied)
vim.cmd('AgentHost send change it again')
question = stage.asked()
question.focus()
stage.type('q')
stage.wait('the end after a closed window', function() return stage.session():state() == 'idle' end)
say('closed', stage.transcript():find('the question was closed without an answer', 1, true) ~= nil)

-- ---- stop in mid-stream, and while asking

vim.cmd('AgentHost models ' .. config.scripts.hanging)
vim.cmd('AgentHost send talk for ever')
stage.shows('Once upon a time')
vim.cmd('AgentHost stop')
say('stopping', stage.session():state())
stage.idle()
vim.cmd('AgentHost models ' .. config.scripts.denied)
vim.cmd('AgentHost send ask me')
stage.asked()
vim.cmd('AgentHost stop')
say('floats after stop', #stage.floats())
stage.idle()
say('question after stop', require('agent_host.question').current() ~= nil)
say('unchanged after stop', stage.text(file) == before)

-- ---- something said meanwhile: taken by the run, queued, taken back

vim.cmd('AgentHost models ' .. config.scripts.steered)
vim.cmd('AgentHost send work')
question = stage.asked()
vim.cmd('AgentHost steer mind the gap')
vim.cmd('AgentHost queue and then rest')
stage.wait('two prompts that wait', function() return #stage.session().pending == 2 end)
say('pending', vim.tbl_map(function(each) return each.prompt end, stage.session().pending))
vim.ui.select = function(items, _, choose) choose(items[2], 2) end
vim.cmd('AgentHost unsteer')
stage.wait('one prompt that waits', function() return #stage.session().pending == 1 end)
say('taken back', stage.text(stage.session().prompt))
question.focus()
stage.type('d')
stage.shows('I mind it.')
stage.idle()
say('pending at the end', #stage.session().pending)
local last = stage.transcript()
say('steered', last:find('▌ You\nmind the gap', 1, true) ~= nil)

-- ---- the host is started again, and the session goes on

local id, first = stage.session().id, stage.session()
local restarted = false
require('agent_host.client').restart(first.root, function(problem)
  restarted = true
  say('restart', problem or 'fine')
end)
stage.wait('the restart', function() return restarted end)
require('agent_host.session').forget(first)
vim.cmd('AgentHost new')
vim.cmd('AgentHost resume ' .. id)
stage.wait('the session from before', function() return stage.session().id == id end)
say('resumed', stage.transcript())
vim.cmd('AgentHost models ' .. config.scripts.echo)
vim.cmd('AgentHost send still there?')
stage.shows('\nstill there?\n')
stage.idle()
say('same session', stage.session().id == id)

-- ---- lines of a file go with a prompt; the host dies, and comes again

vim.api.nvim_set_current_win(vim.fn.bufwinid(file))
vim.cmd('AgentHost models ' .. config.scripts.lines)
vim.cmd('1AgentHost send look at this line')
stage.shows('I see the line.')
stage.idle()
vim.cmd('AgentHost models ' .. config.scripts.hanging)
vim.cmd('AgentHost send talk again')
stage.wait('a run that goes on', function()
  local _, times = stage.transcript():gsub('Once upon a time', '')
  return times == 2
end)
require('agent_host.client').running(stage.session().root).rpc.terminate()
vim.cmd('tabnew | checkhealth agent_host') -- before Neovim has noticed
say('health of a host that dies', stage.text(0))
vim.cmd('tabclose!')
stage.shows('the host was shut down')
stage.idle()
say('after the end of the host', stage.session():state())
vim.cmd('AgentHost models ' .. config.scripts.echo)
vim.cmd('AgentHost send back again?')
stage.shows('\nback again?\n')
stage.idle()
say('session after the end of the host', stage.session().id == id)

-- ---- health

vim.cmd('checkhealth agent_host')
say('health', stage.text(0))
say('events', events)
stage.finish()
