-- What the agent is given besides the prompt, prompts by name, a session that is compacted, and a host
-- that dies while a picker waits for it.
local stage = dofile(arg[2])
local config, say = stage.config, stage.say
stage.setup({ settings = { trust = 'always', mcpServers = { docs = { command = 'nowhere-to-be-found' }, off = { command = 'true', enabled = false } } } })
vim.cmd.edit(config.file)

-- ---- prompts by name, on the command line (which starts the host) and in the prompt

vim.cmd('AgentHost compact')
say('nothing said yet', stage.notices)
stage.notices = {}
stage.wait('the prompts', function() return #vim.fn.getcompletion('AgentHost send /e', 'cmdline') > 0 end)
say('prompts', vim.fn.getcompletion('AgentHost send /e', 'cmdline'))
say('files', vim.fn.getcompletion('AgentHost send see @ti', 'cmdline'))
say('only at the beginning', vim.fn.getcompletion('AgentHost send see /e', 'cmdline'))
vim.cmd('AgentHost')
vim.api.nvim_buf_set_lines(0, 0, -1, false, { '/co' })
vim.api.nvim_win_set_cursor(0, { 1, 3 })
local complete = require('agent_host.complete')
say('in the prompt', { complete.func(1, ''), vim.tbl_map(function(item) return item.word end, complete.func(0, '/co')) })
vim.api.nvim_buf_set_lines(0, 0, -1, false, { '' })

-- ---- the page

local function page()
  local window = vim.tbl_filter(function(each) return vim.w[each].agent_host_scratch == 'guidance' end, vim.api.nvim_list_wins())[1]
  return window and vim.api.nvim_win_get_buf(window), window
end
vim.api.nvim_set_current_win(vim.fn.bufwinid(config.file))
vim.cmd('AgentHost guidance')
stage.wait('the page', function() return (page()) end)
say('page', stage.text((page())))
vim.api.nvim_set_current_win(select(2, page()))
vim.fn.search('SKILL.md:')
stage.type('<CR>')
say('followed', { vim.fs.basename(vim.api.nvim_buf_get_name(0)), vim.fn.line('.') })
vim.cmd('AgentHost guidance')
stage.wait('the page again', function() return vim.w.agent_host_scratch == 'guidance' end)
say('pages', #vim.tbl_filter(function(each) return vim.w[each].agent_host_scratch ~= nil end, vim.api.nvim_list_wins()))
stage.type('q')
say('closed', page() == nil)

-- ---- said, and compacted

vim.cmd('AgentHost send /explain this')
stage.shows('It says disk.')
stage.idle()
vim.cmd('AgentHost compact the file above all')
stage.shows('≡ compacted: ')
stage.idle()
say('compacted', stage.transcript())

-- ---- the host dies while it is waited for

local host = vim.api.nvim_get_proc_children(vim.fn.getpid())[1]
vim.uv.kill(host, 'sigstop')
stage.notices = {}
vim.notify = function(words) table.insert(stage.notices, words) end
vim.cmd('AgentHost sessions')
vim.cmd('AgentHost guidance')
vim.cmd('AgentHost compact')
say('waits', #stage.notices == 0)
vim.uv.kill(host, 'sigkill')
stage.wait('being told', function() return #stage.notices >= 2 and stage.session():state() == 'idle' end)
say('told', stage.notices)
say('compacting is over', stage.transcript():match('✗ [^\n]*$'))
vim.cmd('AgentHost send are you there?')
stage.shows('Still here.')
stage.idle()
stage.finish()
