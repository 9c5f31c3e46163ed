-- Opens each file as a person would, applies the edits and tells the text before and after.
-- Called with a JSON file of [{path, edits}] and the file to write the answer to.
local answer = {}
for index, case in ipairs(vim.json.decode(io.open(arg[1]):read("*a"))) do
  vim.cmd.edit({ vim.fn.fnameescape(case.path), bang = true })
  local buffer = vim.api.nvim_get_current_buf()
  local before = vim.lsp._buf_get_full_text(buffer)
  vim.lsp.util.apply_text_edits(case.edits, buffer, "utf-8")
  answer[index] = { before = before, after = vim.lsp._buf_get_full_text(buffer) }
  vim.cmd.bdelete({ bang = true })
end
io.open(arg[2], "w"):write(vim.json.encode(answer))
