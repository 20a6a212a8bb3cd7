;;; tilevm-mode.el --- programs for GPU thread blocks  -*- lexical-binding: t -*-
;;; Commentary:
;; (add-to-list 'load-path ".../editors/emacs")
;; (require 'tilevm-mode)
;; M-x eglot then starts `tilevm lsp'; dap-mode starts `tilevm dap'.
;;; Code:

(require 'tilevm-words)

(declare-function dap-register-debug-provider "dap-mode")
(declare-function dap-register-debug-template "dap-mode")

(defvar tilevm-program "tilevm" "The tilevm program.")

(defconst tilevm-font-lock
  `((,(regexp-opt tilevm-keywords 'words) . font-lock-keyword-face)
    (,(concat (regexp-opt tilevm-instructions 'words) "(") 1 font-lock-builtin-face)
    (,(regexp-opt tilevm-layouts 'words) . font-lock-preprocessor-face)
    (,(regexp-opt tilevm-types 'words) . font-lock-type-face)
    ("@\\(\\w+\\)" 1 font-lock-preprocessor-face)
    ("\\_<\\(?:def\\|pipeline\\) +\\(\\w+\\)" 1 font-lock-function-name-face)))

(defvar tilevm-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?_ "w" table)
    (modify-syntax-entry ?' "\"" table)
    table))

;;;###autoload
(define-derived-mode tilevm-mode prog-mode "tilevm"
  "Major mode for `.tile' files."
  (setq-local font-lock-defaults '(tilevm-font-lock))
  (setq-local comment-start "# ")
  (setq-local indent-tabs-mode nil)
  (setq-local tab-width 4))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.tile\\'" . tilevm-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs `(tilevm-mode . (,tilevm-program "lsp"))))

(with-eval-after-load 'dap-mode
  (dap-register-debug-provider
   "tilevm"
   (lambda (config)
     (plist-put config :dap-server-path (list tilevm-program "dap"))
     (unless (plist-get config :program) (plist-put config :program (buffer-file-name)))
     config))
  (dap-register-debug-template
   "tilevm: this program" (list :type "tilevm" :request "launch" :name "tilevm" :stopOnEntry t)))

(provide 'tilevm-mode)
;;; tilevm-mode.el ends here
