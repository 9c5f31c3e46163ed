;; emacs -Q --batch -l README's lines -l this, in a workspace: one conversation, its answers by stdin.  -*- lexical-binding: t -*-
;; Prints the texts that a test looks at, as JSON in base64. Batch has no command loop: hooks are run by hand.
(setq make-backup-files nil auto-save-default nil create-lockfiles nil)

(defun await (what is-true)
  "Wait until IS-TRUE; WHAT is told if that never happens."
  (let ((end (+ (float-time) 30)))
    (while (not (funcall is-true))
      (when (> (float-time) end) (error "never: %s\n%s" what (buffer-string)))
      (accept-process-output nil 0.02))))

(defun holds (words) (save-excursion (goto-char (point-min)) (search-forward words nil t)))

(defun choose (title)
  "Carry out the code action of that title."
  (run-hooks 'post-command-hook)
  (eglot--signal-textDocument/didChange)
  (let ((found (seq-find (lambda (each) (equal (plist-get each :title) title))
                         (eglot-code-actions (point-min) (point-max)))))
    (unless found (error "no action: %s" title))
    (eglot-execute (eglot-current-server) found)))

(let ((code (find-file "tidy.py")) disk edited undone)
  (buffer-enable-undo)
  (setq disk (buffer-string))
  (find-file "talk.agent.md")
  (run-hooks 'post-command-hook)
  (insert "Change it, please.")
  (choose "Agent: send")
  (await "the edit" (lambda () (holds "It is done.")))
  (agent-stop)
  (await "the stop" (lambda () (holds "> stopped")))
  (with-current-buffer code
    (setq edited (buffer-string))
    (undo-boundary)
    (undo)
    (setq undone (buffer-string)))
  (princ (base64-encode-string
          (json-serialize (list :talk (buffer-string) :disk disk :edited edited :undone undone)) t)))
