-- What the agent is given besides the prompt, as a page: instructions, skills, prompt files, MCP servers,
-- what is wrong with any, and what is ignored until the workspace is trusted.
local client = require('agent_host.client')
local scratch = require('agent_host.scratch')
local session = require('agent_host.session')
local text = require('agent_host.text')

local M = {}

local STATES = {
  ready = { '✓', 'AgentHostOk' },
  failed = { '✗', 'AgentHostFailed' },
  idle = { '·', nil },
  starting = { '…', 'AgentHostRunning' },
}
local OFF = { '⊘', 'AgentHostNote' }

local Page = {}
Page.__index = Page

local function new_page(root) return setmetatable({ root = root, lines = {}, groups = {}, places = {} }, Page) end

---Add a line; `source` is where it leads.
function Page:add(words, group, source, line)
  table.insert(self.lines, text.line(words, 1000) ~= '' and words:match('^%s*') .. text.line(words, 1000) or '')
  self.groups[#self.lines] = group
  if source then self.places[#self.lines] = { path = source, line = line } end
end

---A heading, and what is said if nothing follows.
function Page:section(name, list, none, show)
  if #self.lines > 0 then self:add('') end
  self:add(name, 'Title')
  if #list == 0 then self:add('  ' .. none, 'AgentHostNote') end
  for _, each in ipairs(list) do
    show(each)
  end
end

---A path as people name it.
function Page:named(path)
  local inside = vim.startswith(path, self.root .. '/')
  return inside and path:sub(#self.root + 2) or vim.fn.fnamemodify(path, ':~')
end

---Name and description, and below them the file that says so.
function Page:entry(name, description, source)
  self:add(('  %s · %s'):format(name, description), nil, source)
  if source then self:add('    ' .. self:named(source), 'AgentHostNote', source) end
end

function Page:instructions(each)
  local left_out = each.omitted and (' · %d bytes of it are not used'):format(each.omitted) or ''
  local holds = each.folder and '' or ' · your own'
  self:add('  ' .. self:named(each.source) .. holds .. left_out, nil, each.source)
end

function Page:skill(each) self:entry(each.name, each.description, each.source) end

function Page:prompt(each)
  local name = '/' .. each.name .. (each.argumentHint and ' ' .. each.argumentHint or '')
  self:entry(name, each.description, each.source)
end

function Page:server(each)
  local state = STATES[each.state] or OFF
  local tools = #each.tools > 0 and (' · %d tool%s'):format(#each.tools, #each.tools == 1 and '' or 's') or ''
  self:add(('  %s %s · %s%s · %s'):format(state[1], each.name, each.state, tools, each.how), state[2])
  for _, words in ipairs({ each.reason or '', each.remedy or '', unpack(each.notes) }) do
    if words ~= '' then self:add('      ' .. words, 'AgentHostNote') end
  end
  if #each.tools > 0 then self:add('      ' .. table.concat(each.tools, ', '), 'AgentHostNote') end
end

function Page:problem(each)
  local group = each.severity == 'error' and 'AgentHostFailed' or 'AgentHostAsking'
  local mark = each.severity == 'error' and '✗' or '!'
  self:add(('  %s %s %s: %s'):format(mark, each.kind, each.name, each.reason), group, each.source, each.line)
  self:add(('      %s:%d'):format(self:named(each.source), each.line), 'AgentHostNote', each.source, each.line)
end

function Page:untrusted(each)
  local words = '  %s is not trusted, and its %s not used: :AgentHost trust'
  self:add(words:format(vim.fn.fnamemodify(each.path, ':~'), table.concat(each.ignored, ', ')), 'AgentHostAsking')
end

local function show(root, told)
  local page = new_page(root)
  local function with(method)
    return function(each) page[method](page, each) end
  end
  page:section('Instructions', told.guidance.instructions, 'none: an AGENTS.md holds some', with('instructions'))
  page:section('Skills', told.guidance.skills, 'none', with('skill'))
  page:section('Prompts', told.prompts.prompts, 'none', with('prompt'))
  page:section('MCP servers', told.status.mcpServers, 'none', with('server'))
  local wrong = vim.list_extend(vim.list_slice(told.guidance.problems), told.prompts.problems)
  if #wrong > 0 then page:section('What is wrong', wrong, '', with('problem')) end
  local ignored = vim.tbl_filter(function(each) return #each.ignored > 0 end, told.status.workspaces)
  if #ignored > 0 then page:section('Not used', ignored, '', with('untrusted')) end
  scratch.show('guidance', page.lines, { filetype = 'agenthost-guidance', groups = page.groups, places = page.places })
end

---Ask the host of a root for all of it, and show it.
function M.open(root)
  local told, methods = {}, { { 'guidance', 'agent/guidance' }, { 'prompts', 'agent/prompts' }, { 'status', 'agent/status' } }
  local function ask(index)
    if index > #methods then return show(root, told) end
    client.request(root, methods[index][2], {}, function(problem, answer)
      if problem then return session.warn(problem) end
      told[methods[index][1]] = answer
      ask(index + 1)
    end)
  end
  ask(1)
end

return M
