-- Registers :AgentHost. Nothing else is loaded until it is used.
if vim.g.loaded_agent_host then return end
vim.g.loaded_agent_host = true

if vim.fn.has('nvim-0.10') == 0 then
  vim.api.nvim_create_user_command('AgentHost', function()
    vim.notify('agent-host needs Neovim 0.10 or newer', vim.log.levels.ERROR)
  end, { nargs = '*' })
  return
end

vim.api.nvim_create_user_command('AgentHost', function(opts)
  require('agent_host.commands').execute(opts)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'The agent of agent-host',
  complete = function(lead, line) return require('agent_host.commands').complete(lead, line) end,
})
