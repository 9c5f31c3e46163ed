-- What people ran into with other agents, with a real host: questions that are dismissed, stopped or
-- can't be shown, a denial without words, prompts that wait, a command that says very much.
local stage = dofile(arg[2])
local config, say = stage.config, stage.say
local asks, answers, bytes = 0, 0, 0
vim.api.nvim_create_autocmd('User', {
  pattern = { 'AgentHostQuestion', 'AgentHostAnswered', 'AgentHostDelta' },
  callback = function(event)
    asks = asks + (event.match == 'AgentHostQuestion' and 1 or 0)
    answers = answers + (event.match == 'AgentHostAnswered' and 1 or 0)
    local delta = event.match == 'AgentHostDelta' and event.data.delta or {}
    if delta.kind == 'toolOutput' then bytes = bytes + #delta.text end
  end,
})

local function setup(ask) stage.setup({ ask = ask, settings = { trust = 'always' } }) end
local function send(script, prompt)
  vim.cmd('AgentHost models ' .. config.scripts[script])
  vim.cmd('AgentHost send ' .. prompt)
end

setup('float')
vim.cmd.edit(config.file)
local file = vim.api.nvim_get_current_buf()
local before = stage.text(file)

-- ---- no, and move on: without a word to the model

send('plainly', 'change it')
stage.asked().focus()
stage.type('d')
stage.shows('No words came.')
stage.idle()

-- ---- a picker that dismisses at once is asked once for each call

setup('select')
vim.ui.select = function(_, _, choose) choose(nil) end
asks = 0
send('twice', 'change it and run')
stage.shows('I go on without it.')
stage.idle()
say('dismissed', { asks, stage.text(file) == before, vim.uv.fs_stat(config.root .. '/ran') == nil })

-- ---- a picker that fails is told of, and the question is shown all the same

stage.notices = {}
vim.notify = function(words) table.insert(stage.notices, words) end
vim.ui.select = function() error('no picker here') end
send('plainly', 'change it again')
local question = stage.asked()
say('failing picker', { #stage.floats(), stage.notices[#stage.notices] })
question.focus()
stage.type('d')
stage.idle()
local open_window = vim.api.nvim_open_win
vim.api.nvim_open_win = function() error('no room') end
send('plainly', 'and again')
stage.idle()
vim.api.nvim_open_win = open_window
say('nowhere to ask', { stage.text(file) == before, stage.notices[#stage.notices] })

-- ---- stopped while a picker is open: answering it then does nothing

local late
vim.ui.select = function(items, _, choose)
  late = function() choose(items[3], 3) end
end
send('plainly', 'change it once more')
stage.wait('the picker', function() return late end)
vim.cmd('AgentHost stop')
stage.idle()
local answered = answers
late()
stage.wait('a moment', function() return vim.wait(100) == false end)
say('late answer', { answers - answered, stage.text(file) == before, stage.session():state() })
say('complaints', vim.fn.execute('messages'))

-- ---- what is queued runs in its order, also where the session is shown anew meanwhile

setup('float')
send('slow', 'work')
stage.shows('work is')
for _, prompt in ipairs({ 'one', 'two', 'three' }) do
  vim.cmd('AgentHost queue ' .. prompt)
end
stage.wait('three prompts that wait', function() return #stage.session().pending == 3 end)
local first = stage.session()
require('agent_host.session').forget(first)
vim.cmd('AgentHost resume ' .. first.id)
stage.wait('the session as it goes on', function()
  local now = stage.session()
  return now ~= first and now.id == first.id and #now.pending == 3 and now:state() == 'working'
end)
vim.ui.select = function(items, _, choose) choose(items[2], 2) end
vim.cmd('AgentHost unsteer')
stage.shows('three is heard')
stage.idle()
local told = {}
for who in stage.transcript():gmatch('\n(%a+) is heard') do
  table.insert(told, who)
end
say('in order', told)
say('left', #stage.session().pending)

-- ---- a command of 35,000 lines

local clock, lines = os.clock(), vim.api.nvim_buf_line_count(stage.session().transcript.buffer)
send('much', 'count')
stage.asked().focus()
stage.type('a')
stage.shows('I have counted.')
stage.idle()
local transcript = stage.transcript()
say('much', {
  lines = vim.api.nvim_buf_line_count(stage.session().transcript.buffer) - lines,
  left_out = transcript:match('▏ … (%d+) lines left out …'),
  first = transcript:find('▏ line 1 of many\n', 1, true) ~= nil,
  last = transcript:find('▏ line 35000 of many\n', 1, true) ~= nil,
  bytes = bytes,
  cpu = os.clock() - clock,
})

-- ---- the host is killed while it asks: the question is told of, and comes again

send('plainly', 'leave it open')
stage.asked()
local killed = stage.session()
vim.uv.kill(vim.api.nvim_get_proc_children(vim.fn.getpid())[1], 'sigkill')
stage.wait('the end of the host', function() return killed:state() == 'idle' and #stage.floats() == 0 end)
require('agent_host.session').forget(killed)
vim.cmd('AgentHost resume ' .. killed.id)
stage.shows('? left open, and put again by the next run: coder wants to change')
vim.cmd('AgentHost send go on')
question = stage.asked()
say('asked again', question.params.title)
question.focus()
stage.type('d')
stage.asked().focus()
stage.type('d')
stage.idle()
stage.finish()
