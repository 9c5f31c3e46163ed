-- The sessions that are shown here: what each is doing, what is said to it, stopping. Not here: deltas
-- (deltas.lua), windows (panel.lua), kept sessions (sessions.lua), questions (question.lua).
local client = require('agent_host.client')
local config = require('agent_host.config')
local names = require('agent_host.names')
local render = require('agent_host.render')
local spinner = require('agent_host.spinner')
local text = require('agent_host.text')
local transcript = require('agent_host.transcript')

local M = {}

local NEW = 'new session'

local Session = {}
Session.__index = Session

local all = {} -- every session that is shown, oldest first
local by_run = {} -- run id -> session
local current = nil

-- ---- the sessions

---@param root string
function M.new(root)
  local self = setmetatable({
    root = root,
    pending = {},
    prompts = {},
    log = {},
    role = config.get().role,
    model = config.get().model,
  }, Session)
  self.transcript = transcript.new()
  self:call(NEW)
  self.render = render.new(self.transcript, root)
  table.insert(all, self)
  current = self
  return self
end

---Give a session a title, here only; its buffers are named by it.
function Session:call(title)
  self.title = title
  names.set(self.transcript.buffer, 'agent: ' .. title)
  if self.prompt and vim.api.nvim_buf_is_valid(self.prompt) then names.set(self.prompt, 'prompt: ' .. title) end
end

---The session whose transcript or prompt is in the current buffer.
local function of_buffer()
  local here = vim.b.agent_host_session
  for _, session in ipairs(all) do
    if here and session.transcript.buffer == here then return session end
  end
end

---The session that commands are about: the one shown here, the last one of this file's root, or a new one.
function M.current()
  local shown = of_buffer()
  if shown then return shown end
  local buffer = vim.api.nvim_get_current_buf()
  local is_file = vim.bo[buffer].buftype == '' and vim.api.nvim_buf_get_name(buffer) ~= ''
  if current and not is_file then return current end
  local root = client.root(buffer)
  if current and current.root == root then return current end
  for index = #all, 1, -1 do
    if all[index].root == root then return all[index] end
  end
  return M.new(root)
end

---The session that was used last, if there is any; never a new one.
function M.existing() return of_buffer() or current end

function M.make_current(session) current = session end

function M.by_id(id)
  for _, session in ipairs(all) do
    if session.id == id then return session end
  end
end

function M.forget(session)
  all = vim.tbl_filter(function(each) return each ~= session end, all)
  if current == session then current = all[#all] end
  session.transcript:delete()
end

function M.list() return all end

---Remember whose a run is.
function M.is_of(run_id, session) by_run[run_id] = session end

---The session of a run, known by either id.
function M.of_run(run_id, session_id)
  local session = by_run[run_id] or M.by_id(session_id)
  if not session then return nil end
  by_run[run_id] = session
  session.id = session.id or session_id
  return session
end

---What a session is doing has changed: it is shown so.
local function changed(session)
  vim.cmd.redrawstatus({ bang = true })
  require('agent_host.prompt').show_pending(session)
end
M.changed = changed

---A user event, if anybody listens.
local function tell(pattern, data)
  if #vim.api.nvim_get_autocmds({ event = 'User', pattern = pattern }) == 0 then return end
  vim.api.nvim_exec_autocmds('User', { pattern = pattern, modeline = false, data = data })
end
M.tell = tell

-- ---- saying something

local function new_run_id()
  return ('nvim-%d-%s'):format(vim.fn.getpid(), tostring(vim.uv.hrtime()))
end

---Say something: as a run, or to the run that goes on.
---@param prompt string
---@param opts? {when?: 'now'|'next', context?: table[]}
function Session:send(prompt, opts)
  opts = opts or {}
  if vim.trim(prompt) == '' then return self:warn('there is nothing to send') end
  table.insert(self.prompts, prompt)
  if self.run and not self.id then
    self.held = self.held or {}
    table.insert(self.held, { prompt, opts })
  elseif self.awaiting and not self.run then
    -- The run has ended, but the host has not let go of the session yet.
    self.afterwards = self.afterwards or {}
    table.insert(self.afterwards, { prompt, opts })
  elseif self.run then
    self:_steer(prompt, opts.when or 'now')
  else
    self:_run(prompt, opts)
  end
end

function Session:_run(prompt, opts)
  local run_id = new_run_id()
  by_run[run_id], self.run, self.last_run, self.problem = self, run_id, run_id, nil
  if self.title == NEW then self:call(text.line(prompt, 60)) end
  self.transcript:change(function() self.render:user(prompt) end)
  local params = {
    prompt = prompt,
    runId = run_id,
    sessionId = self.id,
    role = self.role,
    model = self.model,
    context = opts.context and #opts.context > 0 and opts.context or nil,
  }
  self:_work('agent/run', params)
end

---A request that is answered when the run that it begins has ended.
function Session:_work(method, params)
  self.awaiting = true
  spinner.update(self)
  local before = self.last_run
  client.request(self.root, method, params, function(problem, answer)
    self.awaiting = false
    if answer and not self.id then self.id = answer.sessionId end
    if problem then require('agent_host.deltas').flush() end
    -- Nobody else has told it: the run goes on as far as we know, or none has begun.
    local untold = params.runId and self.run == params.runId or not params.runId and self.last_run == before
    if problem and untold then self:run_over(problem) end
    self:_go_on(problem)
    changed(self)
  end)
  changed(self)
end

---Say what was said while the last run was being put away; hand it back if the host could not.
function Session:_go_on(problem)
  local said = self.afterwards or {}
  self.afterwards = nil
  if problem and #said > 0 then return self:hand_back(vim.tbl_map(function(each) return each[1] end, said)) end
  for _, each in ipairs(said) do
    self:send(each[1], each[2])
  end
end

---Have the host summarise the session, so that it takes less of the model's room.
---@param focus string what matters; '' for nothing in particular
function Session:compact(focus)
  if not self.id then return self:warn('nothing has been said in this session yet') end
  if self:state() ~= 'idle' then return self:warn('a run goes on: compact the session when it has ended') end
  local prompt = vim.trim('/compact ' .. focus)
  self.problem = nil
  self.transcript:change(function() self.render:user(prompt) end)
  self:_work('agent/session/compact', { sessionId = self.id, focus = focus })
end

function Session:_steer(prompt, when)
  local params = { sessionId = self.id, prompt = prompt, when = when }
  client.request(self.root, 'agent/steer', params, function(problem, answer)
    if problem then return self:hand_back({ prompt }, problem) end
    if answer.accepted == 'started' then
      by_run[answer.runId], self.run, self.last_run = self, answer.runId, answer.runId
      self.transcript:change(function() self.render:user(prompt) end)
    elseif not self:_taken_early(prompt) then
      -- An agent that can't hear it now gets it next.
      local waits = answer.accepted == 'queued' and 'next' or when
      table.insert(self.pending, { id = answer.id, prompt = prompt, when = waits })
    end
    changed(self)
  end)
end

---Whether the run took a prompt before we heard that it waits.
function Session:_taken_early(prompt)
  local taken = self.early and self.early[prompt]
  if taken then self.early[prompt] = nil end
  return taken
end

---Take back what waits: one, or all of it.
function Session:unsteer(waiting, done)
  local params = { sessionId = self.id, id = waiting.id }
  client.request(self.root, 'agent/steer/remove', params, function(problem, answer)
    if problem then return self:warn(problem) end
    self:_drop(waiting)
    changed(self)
    if not answer.removed then return self:warn('it is not waiting any more') end
    if done then done() end
  end)
end

function Session:_drop(waiting)
  self.pending = vim.tbl_filter(function(each) return each ~= waiting end, self.pending)
end

---The prompt that a run was queued with.
function Session:queued()
  local first = table.remove(self.pending, 1)
  return first and first.prompt
end

---The run has taken what was said to it.
function Session:took(prompt)
  for _, waiting in ipairs(self.pending) do
    if waiting.prompt == prompt then return self:_drop(waiting) end
  end
  self.early = self.early or {}
  self.early[prompt] = true
end

---Say what was said before the session of a new run was known.
function Session:send_held()
  local held = self.id and self.run and self.held
  if not held then return end
  self.held = nil
  for _, each in ipairs(held) do
    self:_steer(each[1], each[2].when or 'now')
  end
end

---Put prompts back where they were written.
function Session:hand_back(prompts, why)
  require('agent_host.prompt').put_back(self, prompts)
  if why then self:warn(why) end
end

-- ---- stopping

---Stop the run; its questions go away at once.
---@param done? fun()
function Session:stop(done)
  if not self.run then
    self:warn('nothing is running')
    return done and done()
  end
  self.stopping = true
  require('agent_host.question').withdraw_run(self.run)
  client.request(self.root, 'agent/stop', { runId = self.run }, function(problem, answer)
    self.stopping = false
    if problem then
      self:warn(problem)
    elseif answer.handedBack then
      self.pending = {}
      self:hand_back(vim.tbl_map(function(waiting) return waiting.prompt end, answer.handedBack))
    end
    changed(self)
    if done then done() end
  end)
  changed(self)
end

---The run is over; `problem`: because the host could not go on with it.
function Session:run_over(problem)
  local run_id = self.run
  self.run, self.stopping = nil, false
  if problem then
    self.problem = problem
    self.transcript:change(function() self.render:note('✗ ' .. problem, 'AgentHostFailed') end)
  end
  local held = self.held or {}
  self.held = nil
  if #held > 0 then self:hand_back(vim.tbl_map(function(each) return each[1] end, held)) end
  spinner.update(self)
  changed(self)
  if not run_id then return end
  tell('AgentHostRunEnded', { sessionId = self.id, runId = run_id, problem = problem })
end

---The host of a client is gone: its runs are over.
function M.host_ended(client_id, problem)
  require('agent_host.deltas').flush()
  for _, session in ipairs(all) do
    local ours = client.running(session.root)
    if not ours or ours.id == client_id then session.awaiting = false end
    if session.run and (not ours or ours.id == client_id) then
      session.pending = {}
      session:run_over(problem .. '. What was done is kept: send something to go on')
    end
  end
end

-- ---- what is going on

---In a few words: idle, working, asking, stopping.
function Session:state()
  if self.stopping then return 'stopping' end
  if self.run and require('agent_host.question').is_open(self.run) then return 'asking' end
  return (self.run or self.awaiting) and 'working' or 'idle'
end

-- ---- words to the person; shown as a message and never as code

function M.warn(words) vim.notify('agent-host: ' .. text.line(words, 500), vim.log.levels.WARN) end

function M.inform(words) vim.notify('agent-host: ' .. text.line(words, 500), vim.log.levels.INFO) end

function Session:warn(words) M.warn(words) end

function Session:inform(words) M.inform(words) end

return M
