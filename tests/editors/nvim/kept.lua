-- What is done with kept sessions: a run's edit reverted, then the session forked, renamed, picked by
-- the user's own picker, and deleted.
local stage = dofile(arg[2])
local config, say = stage.config, stage.say
stage.setup({ settings = { trust = 'always' } })

vim.cmd.edit(config.file)
local file = vim.api.nvim_get_current_buf()
vim.api.nvim_buf_set_text(file, 0, 0, 0, 0, config.typed)
local before = stage.text(file)
vim.cmd('AgentHost send tidy up')
for _ = 1, 2 do
  local question = stage.asked()
  question.focus()
  stage.type('a')
  stage.wait('the answer', function() return require('agent_host.question').current() ~= question end)
end
stage.idle()
local first = stage.session()

vim.cmd('AgentHost revert')
stage.shows('↶ reverted')
stage.wait('the text from before', function() return stage.text(file) == before end)
say('reverted', true)

vim.cmd('AgentHost rename tidied once')
stage.wait('the new title', function() return first.title == 'tidied once' end)

vim.cmd('AgentHost fork')
stage.wait('the fork', function() return stage.session() ~= first and stage.session().id ~= nil end)
local copy = stage.session()
say('fork tells what was said', stage.transcript():find('I see the unsaved text', 1, true) ~= nil)

local offered = {}
vim.ui.select = function(items, opts, choose)
  table.insert(offered, vim.tbl_map(opts.format_item or tostring, items))
  for index, item in ipairs(items) do
    if type(item) == 'string' and item == 'resume' then return choose(item, index) end
    if type(item) == 'table' and item.sessionId == first.id then return choose(item, index) end
  end
end
vim.cmd('AgentHost sessions')
stage.wait('the picked session', function() return stage.session() == first end)
say('offered', offered)

local asked
vim.ui.select = function(items, _, choose)
  asked = items
  choose('Keep', 1)
end
vim.cmd('AgentHost delete')
stage.wait('being asked', function() return asked end)
say('asked before deleting', asked)
vim.cmd('AgentHost delete!')
stage.wait('the deleting', function() return require('agent_host.session').by_id(first.id) == nil end)
say('the copy stays', require('agent_host.session').by_id(copy.id) ~= nil)

local roles
vim.ui.select = function(items, opts, choose)
  roles = vim.tbl_map(opts.format_item, items)
  choose(items[1], 1)
end
vim.cmd('AgentHost roles')
stage.wait('the roles', function() return roles end)
say('roles', roles)

local gone = false
require('agent_host.client').stop(first.root, function() gone = true end)
stage.wait('the end of the host', function() return gone end)
stage.report()
