-- What the host says to us and asks of us: deltas, questions, saving, diagnostics, edits.
local M = {}

---An undo step of its own for what comes next in a buffer.
local function break_undo(buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) then return end
  vim.api.nvim_buf_call(buffer, function() vim.cmd('let &l:undolevels = &l:undolevels') end)
end

local function buffers_of(edit)
  local uris = vim.tbl_keys(edit.changes or {})
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.textDocument then table.insert(uris, change.textDocument.uri) end
  end
  local buffers = {}
  for _, uri in ipairs(uris) do
    local buffer = vim.fn.bufnr(vim.uri_to_fname(uri))
    if buffer > 0 then table.insert(buffers, buffer) end
  end
  return buffers
end

---Neovim's own way to apply an edit, as one undo step and without a message about it.
local function apply_edit(_, params, context)
  local buffers = buffers_of(params.edit)
  vim.tbl_map(break_undo, buffers)
  local quiet = vim.tbl_extend('force', {}, params)
  quiet.label = nil
  local result = vim.lsp.handlers['workspace/applyEdit'](nil, quiet, context)
  vim.tbl_map(break_undo, buffers)
  return result
end

local function ask(_, params, context)
  local thread = coroutine.running()
  local answered, early, result = false, true, nil
  require('agent_host.question').add(params, context.client_id, function(chosen)
    if answered then return end
    answered, result = true, chosen
    if not early then assert(coroutine.resume(thread)) end
  end)
  early = false
  if not answered then coroutine.yield() end
  return result or vim.NIL
end

---Whether the file of a buffer was changed by somebody else since it was read.
local function changed_on_disk(buffer)
  local changed = false
  local id = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = buffer,
    callback = function()
      changed, vim.v.fcs_choice = true, ''
    end,
  })
  vim.cmd.checktime(buffer)
  vim.api.nvim_del_autocmd(id)
  return changed
end

---Write buffers that are modified. One whose file has changed meanwhile is not written over.
local function save(_, params)
  local saved = {}
  for _, uri in ipairs(params.uris) do
    local buffer = vim.fn.bufnr(vim.uri_to_fname(uri))
    if buffer > 0 and vim.api.nvim_buf_is_loaded(buffer) and not changed_on_disk(buffer) then
      local ok = pcall(vim.api.nvim_buf_call, buffer, function() vim.cmd('silent update') end)
      if ok and not vim.bo[buffer].modified then table.insert(saved, uri) end
    end
  end
  return { saved = saved }
end

local function column(buffer, lnum, byte, encoding)
  if encoding == 'utf-8' then return byte end
  local line = vim.api.nvim_buf_get_lines(buffer, lnum, lnum + 1, false)[1] or ''
  local utf32, utf16 = vim.str_utfindex(line, math.min(byte, #line))
  return encoding == 'utf-16' and utf16 or utf32
end

local function diagnostic_of(each, encoding)
  local function position(lnum, col)
    return { line = lnum, character = column(each.bufnr, lnum, col, encoding) }
  end
  return {
    range = {
      start = position(each.lnum, each.col),
      ['end'] = position(each.end_lnum or each.lnum, each.end_col or each.col),
    },
    severity = each.severity,
    message = each.message,
    source = each.source,
    code = each.code,
  }
end

---What Neovim shows for a document, whoever found it.
local function diagnostics(_, params, context)
  local buffer = vim.fn.bufnr(vim.uri_to_fname(params.uri))
  local client = vim.lsp.get_client_by_id(context.client_id)
  local found = {}
  if buffer > 0 and vim.api.nvim_buf_is_loaded(buffer) then
    for _, each in ipairs(vim.diagnostic.get(buffer)) do
      table.insert(found, diagnostic_of(each, client and client.offset_encoding or 'utf-16'))
    end
  end
  return { diagnostics = found }
end

local function delta(_, params)
  if params.delta.kind == 'answer' then
    require('agent_host.question').withdraw_call(params.runId, params.delta.callId)
  elseif params.delta.kind == 'ended' then
    require('agent_host.question').withdraw_run(params.runId)
  end
  require('agent_host.deltas').add(params)
  if params.delta.kind == 'toolResult' or params.delta.kind == 'ended' then M.look_at_files() end
end

local looking = false

---Load again what a command has changed on disk, once for a burst of results.
function M.look_at_files()
  if looking or not require('agent_host.config').get().checktime then return end
  looking = true
  vim.schedule(function()
    looking = false
    if vim.fn.getcmdwintype() == '' and vim.api.nvim_get_mode().mode:sub(1, 1) ~= 'c' then
      vim.cmd('silent! checktime')
    end
  end)
end

---The handlers of a client.
function M.table()
  return {
    ['agent/delta'] = delta,
    ['agent/ask'] = ask,
    ['agent/save'] = save,
    ['agent/diagnostics'] = diagnostics,
    ['workspace/applyEdit'] = apply_edit,
    ['$/cancelRequest'] = function() end, -- the delta `answer` of that question withdraws it
  }
end

return M
