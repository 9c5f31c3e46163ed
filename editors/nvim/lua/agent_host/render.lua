-- What each kind of delta becomes in the transcript. One Render for a session; it holds what the next
-- delta of a run needs to know of the ones before.
local config = require('agent_host.config')
local highlights = require('agent_host.highlights')
local text = require('agent_host.text')
local transcript = require('agent_host.transcript')

local M = {}

local MARKS = { ok = '✓', failed = '✗', denied = '⊘', stopped = '■' }
local GROUPS = { ok = 'AgentHostOk', failed = 'AgentHostFailed', denied = 'AgentHostDenied', stopped = 'AgentHostNote' }
local PLAN = { pending = '☐', inProgress = '◐', completed = '☑' }
local WHY = { full = ', the context was nearly full', overflow = ', the context was too long' }
local ARGUMENT_LINES = 20

local Render = {}
Render.__index = Render

---@param to table the transcript
---@param root string paths below it are shown without it
function M.new(to, root)
  return setmetatable({ to = to, root = root, tools = {} }, Render)
end

-- ---- headings and notes

function Render:heading(name, group, info)
  local row = self.to:begin('▌ ' .. text.line(name))
  local virt_text = info and { { ' ' .. text.line(info), 'AgentHostNote' } } or nil
  self.section, self.speaker = 'heading', name
  return self.to:mark(row, { hl_group = group, virt_text = virt_text })
end

---What a person said.
function Render:user(prompt)
  self:heading('You', 'AgentHostUser')
  self.to:begin('', { tight = true })
  self.to:append(prompt)
  self.section = 'user'
end

---A line of our own.
function Render:note(words, group)
  local row = self.to:begin(text.line(words, 1000))
  self.to:paint(row, group or 'AgentHostNote')
  self.section = 'note'
end

local function who(params)
  local path = params.origin.path
  return path and #path > 0 and table.concat(path, ' › ') or params.origin.role or 'agent'
end

function Render:_speak(params)
  local name = who(params)
  if self.speaker ~= name then self:heading(name, 'AgentHostAgent', params.origin.model) end
end

function Render:_void_from_here(row)
  if not self.answer then self.answer = self.to:mark(row) end
end

-- ---- the kinds

local kinds = {}

function kinds.started(self, delta)
  self.tools, self.plan, self.answer, self.usage = {}, nil, nil, nil
  local words = delta.model .. (delta.runtime ~= 'sdk' and ' · ' .. delta.runtime or '')
  self.head_name = delta.role
  self.head = self:heading(delta.role, 'AgentHostAgent', words)
  self.head_words = words
end

function kinds.text(self, delta, params)
  if params.origin.kind == 'user' then return self:user(delta.text) end
  self:_speak(params)
  if self.section ~= 'text' then
    self.section = 'text'
    self:_void_from_here(self.to:begin('', { tight = self.to.length == 0 }))
    self.to:append((delta.text:gsub('^\n+', '')))
    return
  end
  self.to:append(delta.text)
end

function kinds.reasoning(self, delta, params)
  self:_speak(params)
  if self.section ~= 'reasoning' then
    self.section = 'reasoning'
    local row = self.to:begin('○ Thinking')
    self.to:paint(row, 'AgentHostReasoning')
    self:_void_from_here(row)
    self.to:begin(transcript.FOLDED, { tight = true })
  end
  local before = self.to:last_row()
  self.to:append(delta.text, transcript.FOLDED)
  for row = before, self.to:last_row() do
    self.to:paint(row, 'AgentHostReasoning')
  end
end

---A title without the root's path in it.
function Render:_title(title)
  local from, to = title:find(self.root .. '/', 1, true)
  while from do
    title = title:sub(1, from - 1) .. title:sub(to + 1)
    from, to = title:find(self.root .. '/', from, true)
  end
  return title
end

---Arguments as lines, without what the title says already.
function Render:_arguments(delta)
  local lines, title = {}, self:_title(delta.title)
  local names = vim.tbl_keys(delta.arguments)
  table.sort(names)
  for _, name in ipairs(names) do
    local value = delta.arguments[name]
    local shown = type(value) == 'string' and value or vim.json.encode(value)
    local told = type(value) == 'string' and title:find(self:_title((value:gsub('^file://', ''))), 1, true)
    for index, line in ipairs(told and {} or text.lines(shown)) do
      table.insert(lines, (index == 1 and text.line(name) .. ': ' or '  ') .. line)
    end
  end
  if #lines > ARGUMENT_LINES then
    local left = #lines - ARGUMENT_LINES
    lines = vim.list_slice(lines, 1, ARGUMENT_LINES)
    table.insert(lines, ('… %d more lines'):format(left))
  end
  return lines
end

function kinds.toolCall(self, delta, params)
  self:_speak(params)
  local row = self.to:begin('● ' .. text.line(self:_title(delta.title)), { tight = self.section == 'tool' or self.section == 'heading' })
  self.section = 'tool'
  local tool = { title = delta.title, shown = 0, left_out = 0, tail = {} }
  tool.head = self.to:mark(row, { hl_group = 'AgentHostTool' })
  tool.last = self.to:mark(row)
  self.tools[delta.callId] = tool
  self:_state(tool, '…', 'AgentHostRunning')
  self:_body(tool, self:_arguments(delta), { fold = true })
  self.answer = nil
end

function Render:_state(tool, words, group)
  local row = self.to:row_of(tool.head)
  local virt_text = { { ' ' .. text.line(words), group } }
  if row then self.to:mark(row, { hl_group = 'AgentHostTool', virt_text = virt_text }, tool.head) end
end

---Add lines at the end of a tool call's own. `fold`: they can be folded away.
function Render:_body(tool, lines, opts)
  local row = self.to:row_of(tool.last)
  if not row or #lines == 0 then return end
  local prefix = opts.fold and transcript.FOLDED or transcript.OPEN
  lines = vim.tbl_map(function(line) return prefix .. line end, lines)
  local group = opts.group or 'AgentHostBody'
  if opts.diff then
    group = function(line) return highlights.of_diff(line:sub(#prefix + 1)) or 'AgentHostBody' end
  end
  self.to:mark(self.to:insert(row, lines, group), nil, tool.last)
end

function kinds.question(self, delta)
  local tool = self.tools[delta.callId]
  if tool then return self:_state(tool, '? ' .. self:_title(delta.title), 'AgentHostAsking') end
  self:note('? ' .. self:_title(delta.title), 'AgentHostAsking')
end

function kinds.answer(self, delta)
  local tool = self.tools[delta.callId]
  if not tool then return end
  local words = delta.optionId and ('answered: ' .. delta.optionId) or 'not answered'
  if delta.reason then words = words .. ' · ' .. delta.reason end
  self:_state(tool, words, 'AgentHostRunning')
end

function kinds.toolOutput(self, delta)
  local tool = self.tools[delta.callId]
  if not tool then return end
  local most = config.get().transcript.output_lines
  local lines = text.lines((delta.text:gsub('\n$', '')))
  local now = {}
  for _, line in ipairs(lines) do
    if tool.shown < most then
      tool.shown = tool.shown + 1
      table.insert(now, line)
    else
      tool.left_out = tool.left_out + 1
      tool.tail[(tool.left_out - 1) % most + 1] = line
    end
  end
  self:_body(tool, now, { fold = true })
  if tool.left_out > 0 then self:_state(tool, ('… %d more lines'):format(tool.left_out), 'AgentHostRunning') end
end

---The last lines of an output that was longer than what is shown at once.
local function ending(tool)
  local most = config.get().transcript.output_lines
  if tool.left_out <= most then return vim.list_slice(tool.tail, 1, tool.left_out) end
  local lines = { ('… %d lines left out …'):format(tool.left_out - most) }
  for index = 0, most - 1 do
    table.insert(lines, tool.tail[(tool.left_out + index) % most + 1])
  end
  return lines
end

function kinds.toolResult(self, delta)
  local tool = self.tools[delta.callId]
  if not tool then return end
  self:_body(tool, ending(tool), { fold = true })
  tool.tail, tool.left_out, tool.over = {}, 0, true
  local first = vim.trim(delta.summary):match('^[^\n]*') or ''
  local words = MARKS[delta.status] .. (delta.status == 'ok' and '' or ' ' .. delta.status)
  if delta.status == 'denied' then
    -- Why may be a person's own words: shown whole.
    self:_body(tool, text.lines((vim.trim(delta.summary):gsub('^Denied: ', ''))), { group = GROUPS.denied })
  elseif first ~= '' then
    words = words .. ' · ' .. text.line(self:_title(first), 80)
  end
  self:_state(tool, words, GROUPS[delta.status])
  if delta.status == 'failed' and vim.trim(delta.summary) ~= first then
    self:_body(tool, text.lines(vim.trim(delta.summary)), { group = 'AgentHostFailed', fold = true })
  end
end

function kinds.edit(self, delta)
  local tool = self.tools[delta.callId]
  if not tool or tool.diff == delta.diff then return end
  if tool.diff then self:_body(tool, { 'applied differently:' }, {}) end
  tool.diff = delta.diff
  local lines = text.lines((delta.diff:gsub('\n$', '')))
  local short = #lines <= config.get().transcript.diff_lines
  self:_body(tool, lines, { diff = true, fold = not short })
end

function kinds.plan(self, delta)
  local lines = vim.tbl_map(function(entry)
    return PLAN[entry.status] .. ' ' .. text.line(entry.text)
  end, delta.entries)
  if self.plan and self:_replace_plan(lines) then return end
  local row = self.to:begin('Plan')
  self.to:paint(row, 'AgentHostPlan')
  self.plan = { head = self.to:mark(row), size = #lines }
  self.section = 'plan'
  if #lines > 0 then self.to:insert(row, lines, 'AgentHostPlan') end
end

---The plan stands where it was said first, as it is now.
function Render:_replace_plan(lines)
  local row = self.to:row_of(self.plan.head)
  if not row then return false end
  local last = row + 1 + self.plan.size
  local at_end = last > self.to:last_row()
  vim.api.nvim_buf_set_lines(self.to.buffer, row + 1, last, false, lines)
  if at_end then self.to.length = #(lines[#lines] or 'Plan') end
  for index = 1, #lines do
    self.to:paint(row + index, 'AgentHostPlan')
  end
  self.plan.size = #lines
  return true
end

function kinds.usage(self, delta)
  self.usage = delta.usage
  self:_head(text.usage(delta.usage), 'AgentHostNote')
end

function Render:_head(words, group)
  local row = self.head and self.to:row_of(self.head)
  if not row then return end
  local virt_text = { { ' ' .. text.line(self.head_words), 'AgentHostNote' }, { ' · ' .. text.line(words), group } }
  self.to:mark(row, { hl_group = 'AgentHostAgent', virt_text = virt_text }, self.head)
end

function kinds.retry(self, delta)
  if self.answer then self.to:void(self.answer) end
  self.answer = nil
  local wait = delta.waitSeconds > 0 and (' in %.0f s'):format(delta.waitSeconds) or ''
  self:note(('↻ begun again%s: %s'):format(wait, delta.reason), 'AgentHostAsking')
end

function kinds.omitted(self, delta) self:note(('… %d bytes of %s left out'):format(delta.size, delta.what)) end

---All that the run changed; the session keeps it for :AgentHost diff.
function kinds.diff(self, delta)
  local _, files = ('\n' .. delta.text):gsub('\n%+%+%+ ', '')
  files = files + #delta.omitted
  self:note(('Δ %d file%s changed · :AgentHost diff, changes, revert'):format(files, files == 1 and '' or 's'))
end

function kinds.compacted(self, delta)
  local words = '≡ compacted%s: about %s tokens became %s'
  self:note(words:format(WHY[delta.why] or '', text.count(delta.before), text.count(delta.after)))
  local lines = vim.tbl_map(function(line) return transcript.FOLDED .. line end, text.lines(vim.trim(delta.summary)))
  self.to:insert(self.to:last_row(), lines, 'AgentHostReasoning')
end

function kinds.log() end -- the session keeps them for :AgentHost log

function kinds.ended(self, delta)
  for _, tool in pairs(self.tools) do
    if not tool.over then self:_state(tool, MARKS.stopped .. ' stopped', 'AgentHostNote') end
  end
  local usage = text.usage(self.usage)
  local good = delta.status == 'completed'
  self:_head(delta.status .. (usage ~= '' and ', ' .. usage or ''), good and 'AgentHostOk' or 'AgentHostFailed')
  if not good then
    local mark = delta.status == 'stopped' and MARKS.stopped or MARKS.failed
    local words = delta.reason and ': ' .. delta.reason or ''
    self:note(('%s %s%s'):format(mark, delta.status, words), delta.status == 'stopped' and 'AgentHostNote' or 'AgentHostFailed')
  end
  self.speaker, self.section, self.answer = nil, nil, nil
end

M.kinds = kinds

---Show deltas, oldest first; what follows each other and is alike is joined first.
---@param list table[] params of agent/delta
function Render:show(list)
  self.to:change(function()
    for _, params in ipairs(M.joined(list)) do
      local show = kinds[params.delta.kind]
      if show then show(self, params.delta, params) end
    end
  end)
end

local function alike(a, b)
  local one, other = a.delta, b.delta
  return one.kind == other.kind
    and (one.kind == 'text' or one.kind == 'reasoning')
    and a.runId == b.runId
    and a.origin.kind == b.origin.kind
    and a.origin.kind ~= 'user'
    and who(a) == who(b)
end

---Deltas with neighbouring text made one.
function M.joined(list)
  local joined, texts = {}, nil
  for _, params in ipairs(list) do
    local last = joined[#joined]
    if last and alike(last, params) then
      if not texts then
        texts = { last.delta.text }
        local copy = vim.tbl_extend('force', {}, last)
        copy.delta = { kind = last.delta.kind, text = '' }
        joined[#joined] = copy
      end
      table.insert(texts, params.delta.text)
    else
      if texts then last.delta.text = table.concat(texts) end
      texts = nil
      table.insert(joined, params)
    end
  end
  if texts then joined[#joined].delta.text = table.concat(texts) end
  return joined
end

return M
