-- The windows of a session: the transcript, and the prompt below it.
local config = require('agent_host.config')
local prompt = require('agent_host.prompt')
local text = require('agent_host.text')

local M = {}

local OPEN = { right = 'botright vsplit', left = 'topleft vsplit', bottom = 'botright split', tab = 'tab split' }

local function window_of(buffer)
  local window = buffer and vim.fn.bufwinid(buffer) or -1
  return window ~= -1 and window or nil
end

---The window of the panel that is open in this tab page, if there is one, and the prompt's.
local function windows()
  local found = {}
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local part = vim.w[window].agent_host_part
    if part then found[part] = window end
  end
  return found.transcript, found.prompt
end

local function set(window, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
  end
end

local PLAIN = { number = false, relativenumber = false, signcolumn = 'no', spell = false, list = false, wrap = true, linebreak = true }

---Neovim leaves folds as they are while somebody types, in whatever window: made anew afterwards.
local function fold_after_typing()
  vim.api.nvim_create_autocmd('InsertLeave', {
    group = vim.api.nvim_create_augroup('agent_host_folds', {}),
    callback = vim.schedule_wrap(function()
      for _, window in ipairs(vim.api.nvim_list_wins()) do
        if vim.w[window].agent_host_part == 'transcript' then vim.wo[window].foldmethod = vim.wo[window].foldmethod end
      end
    end),
  })
end

local function dress_transcript(window)
  vim.w[window].agent_host_part = 'transcript'
  set(window, PLAIN)
  set(window, { breakindent = true, conceallevel = 0, cursorline = false, foldcolumn = '0', winfixwidth = true, winhighlight = 'Folded:Normal' })
  if config.get().transcript.fold then
    local expression = "v:lua.require'agent_host.transcript'.fold_level(v:lnum)"
    set(window, { foldmethod = 'expr', foldexpr = expression, foldlevel = 0, foldminlines = 0, fillchars = 'fold: ', foldenable = true, foldtext = "v:lua.require'agent_host.panel'.fold_text()" })
    fold_after_typing()
  end
end

---The one line of a closed fold.
function M.fold_text()
  local count = vim.v.foldend - vim.v.foldstart + 1
  return { { ('▏ … %d line%s'):format(count, count == 1 and '' or 's'), 'AgentHostNote' } }
end

local function dress_prompt(window)
  vim.w[window].agent_host_part = 'prompt'
  set(window, PLAIN)
  set(window, { winfixheight = true, winbar = "%{%v:lua.require'agent_host.panel'.winbar()%}" })
end

local function open_transcript(buffer)
  local where = config.get().window
  vim.cmd(OPEN[where.position])
  local window = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(window, buffer)
  if where.position == 'right' or where.position == 'left' then
    vim.api.nvim_win_set_width(window, math.min(where.width, math.floor(vim.o.columns * 0.6)))
  end
  return window
end

---Show a session and put the cursor into its prompt.
---@param session table
function M.open(session)
  local written = prompt.buffer(session)
  local above, below = windows()
  if not above then
    above = open_transcript(session.transcript.buffer)
    dress_transcript(above)
  end
  -- The options of a window belong to its buffer as well: dressed again for another buffer.
  vim.api.nvim_win_set_buf(above, session.transcript.buffer)
  dress_transcript(above)
  vim.api.nvim_win_set_cursor(above, { vim.api.nvim_buf_line_count(session.transcript.buffer), 0 })
  if not below then
    vim.api.nvim_set_current_win(above)
    vim.cmd('belowright split')
    below = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_height(below, config.get().window.prompt_height)
  end
  vim.api.nvim_win_set_buf(below, written)
  dress_prompt(below)
  vim.api.nvim_set_current_win(below)
  require('agent_host.session').make_current(session)
end

---Close the windows; the session goes on.
function M.close()
  local above, below = windows()
  for _, window in pairs({ below, above }) do
    if #vim.api.nvim_tabpage_list_wins(0) > 1 or #vim.api.nvim_list_tabpages() > 1 then
      vim.api.nvim_win_close(window, true)
    end
  end
end

function M.is_open(session) return window_of(session.transcript.buffer) ~= nil end

---Close if open, else open.
function M.toggle(session)
  if M.is_open(session) then M.close() else M.open(session) end
end

-- ---- the line above the prompt

---The state of a session in one line, fit for 'winbar'.
function M.winbar()
  local session = require('agent_host.session').existing()
  if not session then return '' end
  local keys = config.get().keys
  local state = session:state()
  local words = { '%#AgentHostNote#' .. text.in_statusline(session.role_now or session.role or 'agent') }
  local model = session.model or session.model_now
  if model then table.insert(words, text.in_statusline(model)) end
  for _, each in ipairs({ text.fullness(session.usage), text.usage(session.usage) }) do
    if each ~= '' then table.insert(words, text.in_statusline(each)) end
  end
  if #session.pending > 0 then table.insert(words, #session.pending .. ' waiting') end
  local sends = vim.api.nvim_get_mode().mode:sub(1, 1) == 'i' and keys.send.i or keys.send.n
  local hint = state == 'idle' and (sends .. ' sends') or (keys.stop.n .. ' stops')
  local groups = { working = 'AgentHostRunning', asking = 'AgentHostAsking', stopping = 'AgentHostAsking' }
  local mark = state == 'idle' and '' or session.transcript:frame_now() .. ' '
  local head = ('%%#%s# %s%s '):format(groups[state] or 'AgentHostNote', mark, state)
  return head .. '%<' .. table.concat(words, ' · ') .. '%=' .. '%#AgentHostNote#' .. text.in_statusline(hint) .. ' '
end

return M
