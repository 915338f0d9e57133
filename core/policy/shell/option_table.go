package shell

import (
	"strings"
	"sync"
)

// options lists what options of an otherwise harmless program make it run or
// write. To add a program is to add a row. In lists, which are separated by
// blanks, a single letter is a short option and anything longer a long one.
type options struct {
	names  string // separated by commas; git's subcommands as "git log"
	valued string // letters that take a value and do nothing else, so that it is not read as letters
	fine   string // long options whose name begins another one's
	runs   string // options that make something run, whatever their value
	texts  string // options whose value is a command line
	starts string // options whose value is a program that is run, with arguments of its own
	pagers string // options whose value, which must be attached, is a command line that is given files; without one something runs
	writes string // options whose value is a file that is written
	leaves string // options that write files whose names cannot be told
	single bool   // long options may have one dash
	plus   bool   // an argument that begins with + runs something
	begins string // an argument that begins with one of these runs something
	holds  string // an argument that holds one of these runs something
	first  string // first arguments that make the program run something
	second bool   // the second argument that is no option is a file that is written
}

var optionRows = []options{
	{names: "sort,gsort", valued: "kSTt", starts: "compress-program", writes: "o output"},
	{names: "uniq,guniq", valued: "fsw", second: true},
	{names: "shuf,gshuf", valued: "in", writes: "o output"},
	{names: "split,gsplit", valued: "abClnt", texts: "filter"},
	{names: "tree", valued: "LPIH", writes: "o"},
	{names: "rg,ripgrep", valued: "ABCEMdefgjmrtT", starts: "pre hostname-bin"},
	{names: "ag,ack,bat,batcat", texts: "pager"},
	{names: "less,more,most,pg", valued: "bhjpPtxyz", runs: "k lesskey-file lesskey-src T tag-file", writes: "o O log-file LOG-FILE", plus: true},
	{names: "man", valued: "RLmMSsrEe", runs: "H C html config-file", texts: "P pager"},
	{names: "vi,vim,nvim,view,gvim,ex,vimdiff,nvi,kak,hx,micro,joe", runs: "c S s u U e cmd", plus: true},
	{names: "emacs,emacsclient", runs: "e f l eval funcall load execute script batch", single: true},
	{names: "ed,red", runs: "*"},
	{names: "zip", runs: "T unzip-command"},
	{names: "nmap", runs: "script datadir"},
	{names: "tcpdump,tshark,dumpcap", valued: "BcCDEFGijmMrsTVyZ", runs: "z", writes: "w"},
	{names: "curl", valued: "AbCdeEFHhmPQrtTuUwxXyYz", fine: "cookie", runs: "K config engine", writes: "o output D dump-header c cookie-jar trace trace-ascii stderr etag-save hsts alt-svc libcurl output-dir", leaves: "O J remote-name remote-name-all", holds: "%output{"},
	{names: "wget", valued: "aADeGiIlPQRTtUwX", runs: "e execute config use-askpass", writes: "O output-document o output-file a append-output"},
	{names: "aria2c", runs: "on-download-complete on-download-start on-download-error conf-path on-bt-download-complete"},
	{names: "rsync", valued: "BfT", runs: "M rsync-path config remote-option", texts: "e rsh", writes: "log-file write-batch"},
	{names: "scp,sftp", valued: "cilPlX", runs: "F D s o", starts: "S"},
	{names: "ssh-keygen,ssh-add,ssh-agent", runs: "D w"},
	{names: "date,gdate", valued: "dfIr", runs: "s set"},
	{names: "xxd", valued: "clnosR", second: true},
	{names: "iconv", valued: "ft", writes: "o output"},
	{names: "base64,base32", valued: "wbi", writes: "o output"},
	{names: "openssl", runs: "engine provider provider-path", writes: "out keyout writerand", single: true},
	{names: "go", runs: "exec toolexec vettool overlay w", single: true, holds: "extld", first: "generate"},
	{names: "cargo", runs: "Z config"},
	{names: "npm,pnpm,yarn", runs: "script-shell node-options userconfig globalconfig", holds: "script-shell"},
	{names: "gcc,g++,cc,c++,clang,clang++,ld,gfortran,tcc", begins: "-fplugin -wrapper -specs --specs -fuse-ld -B @ -Xclang -load"},
	{names: "cmake", runs: "P E"},
	{names: "gradle,gradlew", runs: "I init-script"},
	{names: "pdflatex,latex,xelatex,lualatex,tex,latexmk", runs: "e shell-escape enable-write18", single: true},
	{names: "sqlite3,duckdb", runs: "cmd init", single: true, holds: ".sh .system .load .output .once .excel .import edit( load_extension writefile"},
	{names: "psql,mysql,mariadb", runs: "pager", holds: `\! \o \g program PROGRAM system SYSTEM`},
	{names: "gpg,gpg2", runs: "exec-path agent-program photo-viewer pinentry-program load-extension"},
	{names: "bc,dc", begins: "!"},
	{names: "screen,tmux,byobu", runs: "X c f"},
	{names: "file", runs: "C compile"},
	{names: "install,ginstall", runs: "strip-program"},
	{names: "mutt,mail,mailx", runs: "e", holds: "~! ~|"},
	{names: "nc,netcat,ncat", runs: "e c exec sh-exec lua-exec"},

	{names: "git grep", valued: "efABCm", pagers: "O open-files-in-pager"},
	{names: "git diff,git log,git show,git whatchanged,git diff-tree,git diff-index,git diff-files,git stash,git reflog,git rev-list,git range-diff", valued: "SGOnLUlMCX", fine: "text", runs: "ext-diff textconv", writes: "output"},
	{names: "git format-patch", valued: "SGOnLUlMCXv", fine: "text", runs: "ext-diff textconv", writes: "o output output-directory"},
	{names: "git cat-file", runs: "textconv filters"},
	{names: "git archive", runs: "exec remote", writes: "o output"},
	{names: "git fetch,git pull,git ls-remote,git fetch-pack", valued: "josSX", runs: "upload-pack exec"},
	{names: "git push,git send-pack", valued: "o", runs: "receive-pack exec"},
	{names: "git clone", valued: "bojO", runs: "u c upload-pack config template"},
	{names: "git init", valued: "b", runs: "template"},
	{names: "git rebase", valued: "CsX", texts: "x exec"},
	{names: "git difftool", valued: "t", texts: "x extcmd"},
	{names: "git send-email", runs: "sendmail-cmd smtp-server to-cmd cc-cmd header-cmd"},
	{names: "git instaweb", runs: "httpd browser"},
}

// optionsOf gives the row of a program. The table is read once.
var optionsOf = sync.OnceValue(func() map[string]*options {
	rows := map[string]*options{}
	for _, row := range optionRows {
		for name := range strings.SplitSeq(row.names, ",") {
			rows[name] = &row
		}
	}
	return rows
})
