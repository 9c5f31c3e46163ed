-- The highlight groups: all of them links to standard ones, unless the user or a colour scheme has
-- defined them.
local M = {}

M.links = {
  AgentHostUser = 'Title',
  AgentHostAgent = 'Function',
  AgentHostTool = 'Identifier',
  AgentHostBody = 'Comment',
  AgentHostReasoning = 'Comment',
  AgentHostVoid = 'DiagnosticDeprecated',
  AgentHostNote = 'NonText',
  AgentHostRunning = 'DiagnosticInfo',
  AgentHostAsking = 'DiagnosticWarn',
  AgentHostOk = 'DiagnosticOk',
  AgentHostDenied = 'DiagnosticWarn',
  AgentHostFailed = 'DiagnosticError',
  AgentHostAdded = 'Added',
  AgentHostRemoved = 'Removed',
  AgentHostHunk = 'Changed',
  AgentHostPlan = 'Special',
  AgentHostQuestion = 'Question',
  AgentHostOption = 'Special',
  AgentHostSpinner = 'DiagnosticInfo',
  AgentHostWaiting = 'DiagnosticHint',
}

local function define()
  local links = vim.tbl_extend('error', M.links, require('agent_host.markdown').links)
  for name, link in pairs(links) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

---Define the groups, now and after each colour scheme.
function M.setup()
  define()
  vim.api.nvim_create_autocmd('ColorScheme', {
    group = vim.api.nvim_create_augroup('agent_host_highlights', {}),
    callback = define,
  })
end

---The group of a line of a unified diff.
---@param line string
---@return string?
function M.of_diff(line)
  local first = line:sub(1, 1)
  if line:find('^%+%+%+ ') or line:find('^%-%-%- ') then return 'AgentHostNote' end
  return ({ ['+'] = 'AgentHostAdded', ['-'] = 'AgentHostRemoved', ['@'] = 'AgentHostHunk' })[first]
end

return M
