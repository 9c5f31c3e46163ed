-- The questions that are open, shown one at a time, oldest first. Nothing but a chosen option is a yes:
-- closing, an error or a run that ends is none. Not here: the window (question_window.lua).
local config = require('agent_host.config')
local text = require('agent_host.text')

local M = {}

local open = {} -- oldest first: { params, client_id, settle }
local shown = nil

local function session() return require('agent_host.session') end

local function redraw()
  vim.cmd.redrawstatus({ bang = true })
end

-- ---- answering

---Settle a question; nothing happens if it was settled before.
---@param question table
---@param answer table? what is answered; nil: nobody chose
local function settle(question, answer)
  if question.over then return end
  question.over = true
  open = vim.tbl_filter(function(each) return each ~= question end, open)
  if shown == question then
    shown = nil
    if question.close then question.close() end
  end
  question.settle(answer)
  session().tell('AgentHostAnswered', { params = question.params, answer = answer })
  redraw()
  vim.schedule(M.show_next)
end

local function option_of(question, kinds)
  for _, kind in ipairs(kinds) do
    for _, option in ipairs(question.params.options) do
      if option.kind == kind then return option end
    end
  end
end

---Choose one of the options that the host offers.
---@param question table
---@param option table
---@param reason? string
function M.choose(question, option, reason)
  local answer = { optionId = option.id, reason = reason }
  if question.accepted and vim.startswith(option.kind, 'allow') then answer.accepted = question.accepted() end
  settle(question, answer)
end

---Allow: `longer` for as long as is offered beyond this once.
function M.allow(question, longer)
  local kinds = longer and { 'allowSession', 'allowWorkspace' } or { 'allowOnce' }
  local option = option_of(question, kinds)
  if option then return M.choose(question, option) end
  vim.notify('agent-host: this can be allowed once only', vim.log.levels.WARN)
end

---@param reason? string the person's words, for the model
function M.deny(question, reason)
  local option = option_of(question, { 'deny' })
  if reason and not question.params.allowsReason then reason = nil end
  if option then M.choose(question, option, reason) else settle(question, nil) end
end

---Ask for a reason, then deny; without one the question stays.
function M.deny_with_reason(question)
  vim.ui.input({ prompt = 'Denied. Tell the agent why: ' }, function(reason)
    vim.api.nvim_echo({ { '' } }, false, {}) -- what was typed would stay below
    if not reason or vim.trim(reason) == '' then return end
    vim.schedule(function() M.deny(question, reason) end)
  end)
end

---End the whole run.
function M.stop(question)
  local option = option_of(question, { 'stop' })
  if option then return M.choose(question, option) end
  local params = question.params
  require('agent_host.client').stop_run(question.client_id, params.runId)
  settle(question, nil)
end

---The window was closed: denied, this once.
function M.closed(question) settle(question, nil) end

-- ---- coming and going

---A question of the host. `done` is called once, with an answer or nil.
function M.add(params, client_id, done)
  local question = { params = params, client_id = client_id, settle = done }
  table.insert(open, question)
  require('agent_host.deltas').flush()
  session().tell('AgentHostQuestion', params)
  redraw()
  vim.schedule(M.show_next)
end

local function withdraw(matches)
  for _, question in ipairs(vim.list_slice(open)) do
    if matches(question) then settle(question, nil) end
  end
end

---The host wants no answer any more.
function M.withdraw_call(run_id, call_id)
  withdraw(function(each) return each.params.runId == run_id and each.params.callId == call_id end)
end

function M.withdraw_run(run_id)
  withdraw(function(each) return each.params.runId == run_id end)
end

function M.host_ended(client_id)
  withdraw(function(each) return each.client_id == client_id end)
end

---Show a question, by our own window where the person's picker fails; one that nobody can see is denied.
local function show(question)
  local window, select = 'agent_host.question_window', 'agent_host.question_select'
  for _, way in ipairs(config.get().ask == 'select' and { select, window } or { window }) do
    local ok, problem = pcall(function() require(way).show(question, #open) end)
    if ok then return end
    session().warn(('a question can not be shown by %s: %s'):format(way == select and 'vim.ui.select' or 'a window', problem))
    if question.close then question.close() end
  end
  settle(question, nil)
end

function M.show_next()
  if shown or #open == 0 then return end
  shown = open[1]
  show(shown)
end

---The question that is shown, or the oldest one.
function M.current() return shown or open[1] end

---Whether a run waits for an answer; without a run: whether anything does.
function M.is_open(run_id)
  for _, each in ipairs(open) do
    if not run_id or each.params.runId == run_id then return true end
  end
  return false
end

---Put the keyboard into the question.
function M.focus()
  local question = M.current()
  if not question then return vim.notify('agent-host: no question is open', vim.log.levels.INFO) end
  if question.focus then question.focus() end
end

---The line about a question for messages and pickers.
function M.title(question) return text.line(question.params.title, 600) end

return M
