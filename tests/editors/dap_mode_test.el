;;; dap_mode_test.el --- tilevm dap under Emacs's dap-mode  -*- lexical-binding: t -*-
;;; Commentary:
;; emacs --batch -l tests/editors/dap_mode_test.el TILEVM FOLDER
;; Exit status: 0 all well, 1 a test failed, 77 this Emacs has no dap-mode (Debian: elpa-dap-mode).
;; dap_mode_test.py runs this and judges the messages.
;;; Code:

(package-initialize)
(unless (require 'dap-mode nil t) (kill-emacs 77))

(defvar tested-program (expand-file-name (pop command-line-args-left)))
(defvar folder (pop command-line-args-left))
(defvar here (file-name-directory load-file-name))
(setq dap-auto-configure-features nil
      dap-auto-show-output nil
      dap-breakpoints-file (expand-file-name "breakpoints" folder))
(add-to-list 'load-path (expand-file-name "../../editors/emacs" here))
(defvar tilevm-program tested-program)
(require 'tilevm-mode)

(defun check (what holds)
  (message "%s: %s" (if holds "ok" "FAILED") what)
  (unless holds (kill-emacs 1)))

(defun frame-line ()
  (let ((frame (dap--debug-session-active-frame (dap--cur-session))))
    (and frame (gethash "line" frame))))

(defun wait-for-line (line)
  (with-timeout (60 (check (format "the stop at line %d, not %s" line (frame-line)) nil))
    (while (not (equal (frame-line) line)) (accept-process-output nil 0.02)))
  (check (format "a stop at line %d" line) t))

(defun step-by (request)
  (dap--step request (dap--cur-session)))

(find-file (expand-file-name "../../programs/figure2.tile" here))
(check "the file's mode" (eq major-mode 'tilevm-mode))
(goto-char (point-min))
(forward-line 21)
(dap-breakpoint-add)
(dap-debug (list :type "tilevm" :request "launch" :name "figure 2" :stopOnEntry t
                 :program (buffer-file-name)
                 :defines (list :M 16 :N 8 :K 32)))
(wait-for-line 12)
(let ((session (dap--cur-session)))
  (check "the breakpoint is placed"
         (gethash "verified" (elt (gethash (buffer-file-name)
                                           (dap--debug-session-breakpoints session)) 0)))
  (dap-continue session (dap--debug-session-thread-id session))
  (wait-for-line 22)
  (step-by "stepBack")
  (wait-for-line 21)
  (dap-next session)
  (wait-for-line 22)
  (let* ((frame (gethash "id" (dap--debug-session-active-frame session)))
         (scopes (gethash "scopes" (dap-request session "scopes" :frameId frame)))
         (registers (gethash "variablesReference" (elt scopes 1)))
         (tiles (gethash "variables" (dap-request session "variables" :variablesReference registers))))
    (check "register tiles are variables"
           (seq-some (lambda (tile) (equal (gethash "name" tile) "acc")) tiles))
    (check "the console"
           (string-match-p "by line"
                           (gethash "result" (dap-request session "evaluate" :context "repl"
                                                          :frameId frame
                                                          :expression "why acc[3, 5]")))))
  (dap-disconnect session)
  (with-timeout (60 (check "the adapter ends" nil))
    (while (process-live-p (dap--debug-session-proc session)) (accept-process-output nil 0.02))))
;;; dap_mode_test.el ends here
