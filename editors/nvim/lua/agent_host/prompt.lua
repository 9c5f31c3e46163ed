-- The prompt of a session as a buffer: many lines, sent with a key, with history, and below it what
-- waits for the run. Not here: what @ and / complete to (complete.lua).
local config = require('agent_host.config')
local text = require('agent_host.text')

local M = {}

local SPACE = vim.api.nvim_create_namespace('agent_host_pending')
local MARKS = { now = '↳ for this run: ', next = '⏎ afterwards: ' }

local function content(buffer) return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') end

local function fill(buffer, prompt)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(prompt, '\n', { plain = true }))
  local window = vim.fn.bufwinid(buffer)
  local last = vim.api.nvim_buf_line_count(buffer)
  if window ~= -1 then vim.api.nvim_win_set_cursor(window, { last, #vim.fn.getbufoneline(buffer, last) }) end
end

-- ---- sending

---Send what is written.
---@param session table
---@param when? 'now'|'next'
function M.send(session, when)
  local prompt = content(session.prompt)
  if vim.trim(prompt) == '' then return end
  session.older, session.draft = nil, nil
  local context = vim.list_extend(session.context or {}, require('agent_host.mentions').mentioned(session.root, prompt))
  session.context = nil
  if vim.fn.pumvisible() == 1 then vim.fn.complete(vim.fn.col('.'), {}) end
  fill(session.prompt, '')
  -- What comes is folded, and a question may take the keyboard, only while nobody types.
  if vim.api.nvim_get_current_buf() == session.prompt then vim.cmd('stopinsert') end
  session:send(prompt, { when = when, context = context })
end

---Put prompts in front of what is written.
function M.put_back(session, prompts)
  local buffer = M.buffer(session)
  local written = content(buffer)
  if vim.trim(written) ~= '' then table.insert(prompts, written) end
  fill(buffer, table.concat(prompts, '\n'))
end

---Write words at the end of what is written, for the person to go on with.
function M.add(session, words)
  local buffer = M.buffer(session)
  local written = content(buffer)
  local space = (written == '' or written:find('%s$')) and '' or ' '
  fill(buffer, written .. space .. words .. ' ')
end

-- ---- history

---Show an older (1) or newer (-1) prompt; what is being written is kept.
function M.recall(session, step)
  local position = (session.older or 0) + step
  if position < 0 or position > #session.prompts then return end
  if not session.older or session.older == 0 then session.draft = content(session.prompt) end
  session.older = position
  fill(session.prompt, position == 0 and session.draft or session.prompts[#session.prompts + 1 - position])
end

-- ---- what waits

---Show below the prompt what waits for the run.
function M.show_pending(session)
  local buffer = session.prompt
  if not buffer or not vim.api.nvim_buf_is_valid(buffer) then return end
  vim.api.nvim_buf_clear_namespace(buffer, SPACE, 0, -1)
  if #session.pending == 0 then return end
  local lines = vim.tbl_map(function(waiting)
    return { { MARKS[waiting.when] .. text.line(waiting.prompt, 100), 'AgentHostWaiting' } }
  end, session.pending)
  table.insert(lines, { { config.get().keys.unsteer.n .. ' takes one back', 'AgentHostNote' } })
  vim.api.nvim_buf_set_extmark(buffer, SPACE, vim.api.nvim_buf_line_count(buffer) - 1, 0, { virt_lines = lines })
end

---Take back what waits: the only one, or one that is picked. It is put into the prompt again.
function M.unsteer(session)
  local function take(waiting)
    if not waiting then return end
    session:unsteer(waiting, function() M.put_back(session, { waiting.prompt }) end)
  end
  if #session.pending == 0 then return session:inform('nothing waits') end
  if #session.pending == 1 then return take(session.pending[1]) end
  vim.ui.select(session.pending, {
    prompt = 'Take back: ',
    format_item = function(waiting) return MARKS[waiting.when] .. text.line(waiting.prompt) end,
  }, take)
end

-- ---- the buffer

local function map(session, buffer)
  local function set(keys, work)
    for mode, key in pairs(keys) do
      vim.keymap.set(mode, key, work, { buffer = buffer, silent = true })
    end
  end
  local keys = config.get().keys
  set(keys.send, function() M.send(session) end)
  set(keys.queue, function() M.send(session, 'next') end)
  set(keys.older, function() M.recall(session, 1) end)
  set(keys.newer, function() M.recall(session, -1) end)
  set(keys.unsteer, function() M.unsteer(session) end)
  set(keys.stop, function() session:stop() end)
  vim.keymap.set('n', keys.stop.n, function() session:stop() end, { buffer = session.transcript.buffer, silent = true })
  require('agent_host.reading').map(session)
end

---The prompt buffer of a session, made when it is wanted first.
function M.buffer(session)
  if session.prompt and vim.api.nvim_buf_is_valid(session.prompt) then return session.prompt end
  local buffer = vim.api.nvim_create_buf(false, true)
  session.prompt = buffer
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = 'nofile', 'hide', false
  vim.bo[buffer].modeline, vim.bo[buffer].filetype = false, 'agenthost-prompt'
  local completing = "v:lua.require'agent_host.complete'.func"
  vim.bo[buffer].completefunc, vim.bo[buffer].omnifunc = completing, completing
  vim.b[buffer].agent_host_session = session.transcript.buffer
  vim.b[session.transcript.buffer].agent_host_session = session.transcript.buffer
  map(session, buffer)
  session:call(session.title)
  vim.api.nvim_create_autocmd('TextChangedI', {
    buffer = buffer,
    callback = function() require('agent_host.complete').trigger(session) end,
  })
  return buffer
end

return M
