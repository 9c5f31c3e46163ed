-- What moves at the end of a transcript while its run goes on; one timer for all of them.
local M = {}

local timer = nil

local function spin()
  local busy = false
  for _, session in ipairs(require('agent_host.session').list()) do
    if session.run then
      busy = true
      if vim.fn.bufwinid(session.transcript.buffer) ~= -1 then session.transcript:spin(session:state()) end
    end
  end
  if not busy and timer then
    timer:stop()
  elseif busy then
    vim.cmd.redrawstatus({ bang = true })
  end
end

---Begin or end it, as the session is.
function M.update(session)
  session.transcript:moving(session.run ~= nil)
  if not session.run then return session.transcript:spin(nil) end
  session.transcript:spin(session:state())
  timer = timer or vim.uv.new_timer()
  if not timer:is_active() then timer:start(150, 150, vim.schedule_wrap(spin)) end
end

return M
