package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-25: an option that no row lists as harmless is not covered by a rule that
// allows its program.
func TestOptionsThatAreNotListed(t *testing.T) {
	for line := range strings.Lines(`
git shortlog --output=x HEAD
git shortlog --outp=x HEAD
git log --show-signature
git log --format=%G?
git log --format=mine
git log --pretty=mine
git lg
git -c alias.x='!./x' x
git -c log.showSignature=true log
git for-each-repo --config=a.b status
git verify-commit HEAD
git tag -v v1
git merge --strategy=./x topic
git clone --template=x a b
git archive --exec=./x HEAD
git archive --remote=x HEAD
git format-patch --signature-file=x
git ls-remote --upl=./x a
git rebase -i HEAD~3
git send-email --sendmail-cmd=./x a
git commit --gpg-sign=x
git fetch --upload-pa ./x a
git fetch --unknown-option
git submodule add --reference x y
git maintenance start --scheduler=cron
go fix -fixtool=./x ./...
go vet -vettool=./x ./...
go vet -vettool ./x ./...
go build -toolexec ./x
go build -overlay x.json ./...
go build -modfile=x.mod
go test -exec ./x ./...
go build -ldflags=-extld=./x
go generate ./...
go list -unknown ./...
sdiff --diff-program=./x a b
sdiff --diff-p=./x a b
diff3 --diff-program ./x a b c
sqlite3 a.db '.shell ./x'
sqlite3 a.db '.sys ./x'
sqlite3 a.db '.read |./x'
sqlite3 -init x a.db
sqlite3 -cmd '.shell x' a.db
kubectl --kubeconfig=x get pods
kubectl get pods --kubeconfig x
kubectl -n a --kubeconfig x exec p -- ls
kubectl get pods --token=x
kubectl edit pod a
kubectl cp a b
nm --plugin ./x a.o
nm --plu=./x a.o
ar --plugin ./x t a.a
objdump --plugin=x a
ld -plugin ./x.so a.o
ld --plugin=./x.so a.o
ld @args
gcc -Wl,-plugin,./x.so a.c
gcc -Wl,--plugin=./x.so a.c
gcc -Wl,@args a.c
gcc -Wl,-O1,-plugin,x a.c
gcc -fplugin=./x.so a.c
gcc -B. a.c
gcc -wrapper ./x a.c
gcc @args
gcc -fuse-ld=./x a.c
gcc -specs=x a.c
gcc -Xlinker -plugin a.c
clang -Xclang -load a.c
clang -fpass-plugin=./x a.c
tmux new -d ./x
tmux new-session ./x
tmux run-shell ./x
tmux -f x ls
tmux -c ./x
tmux source-file x
tmux ls \; new ./x
tmux -L s new ./x
tmux ls ';' run-shell ./x
screen -X exec ./x
fzf --preview './x {}'
fzf --prev ./x
fzf --bind 'start:execute(./x)'
just -c ./x
just --command ./x
just -f x
just --justfile=x build
helm install --post-renderer ./x a b
helm --post-rend=./x template a b
helm plugin install x
helm --kubeconfig x list
rustc -C linker=./x a.rs
rustc -Clinker=./x a.rs
rustc --codegen linker=./x a.rs
rustc -Z x a.rs
cargo --config x build
cargo build --config target.x.runner=./x
cargo build -Z unstable
cargo -C x build
npm --script-shell=./x run a
npm run a --script-sh ./x
npm install --node-options=x
yarn --use-yarnrc x
bun --preload ./x run a
eslint --rulesdir x .
eslint -c x.js .
eslint --resolve-plugins-relative-to x .
prettier --plugin=./x .
jest --config x
jest --globalSetup=./x
mocha -r ./x
mocha --reporter ./x
mocha --ui=./x
eslint -f ./x .
eslint --format=x/y .
pandoc -t x.lua a
pandoc --from=x.lua a
git apply --unsafe-paths a
csplit -f /x a 1
pytest -p x
pytest -c x.ini
pytest --rootdir=x
pytest -o python_files=x
pylint --load-plugins=x a.py
pylint --init-hook='x' a.py
mypy --python-executable ./x a.py
mypy --config-file x a.py
pip --python ./x list
pip install --global-option=x y
uv --directory x run y
cmake -P x.cmake
cmake -E touch x
cmake -DCMAKE_C_COMPILER_LAUNCHER=./x .
cmake --toolchain x .
ninja -f x
meson setup --native-file x b
ctest -S x
gradle -I x build
gradle -Dx=y build
mvn -f x package
mvn -Dexec.executable=./x exec:exec
bazel --bazelrc=x build
bazel run --run_under=./x a
protoc --plugin=./x a.proto
protoc --x_out=. --plugin=protoc-gen-x=./x a.proto
java -javaagent:x.jar -jar a.jar
java -agentpath:./x -version
java @args
dotnet build /p:x=y
composer -d x install
rake -e x
rake -f x
rspec -r ./x
rubocop --require ./x
docker -H tcp://x ps
docker --config x ps
docker compose -f ../x.yml up
docker compose --file=/x/y.yml up
docker build --secret id=x .
docker buildx build --output=x .
terraform -chdir=x init -plugin-dir=x
terraform console
ansible-playbook -i ./x site.yml
ansible-playbook -e x=y site.yml
ansible-playbook -M x site.yml
gh alias set a '!x'
gh extension install x
gh api -F a=@x repos
aws --cli-input-json file://x s3 ls
aws --ca-bundle x s3 ls
psql -f x.sql
psql -c '\! ./x'
psql -o x -c 'select 1'
psql -v x=y -f a
mysql --pager=./x -e 'select 1'
mysql --defaults-file=x -e 'select 1'
mysql -e 'system ./x'
redis-cli --eval x
gpg --agent-program ./x -d a
gpg --homedir x -d a
openssl dgst -engine ./x a
openssl x509 -config x
curl -K x
curl --conf x
curl --engine x http://a
curl -o x http://a
wget --use-askpass=./x http://a
wget -e use_askpass=./x http://a
wget --exec=x http://a
aria2c --on-download-complete=./x http://a
rsync -e ./x a b:c
rsync --rsync-path=./x a b:c
rsync --rsh=./x a b:c
scp -S ./x a b:c
scp -o ProxyCommand=./x a b:c
sftp -D ./x a
nmap --script x h
tcpdump -z ./x -w a -G 1
nc -e ./x h 1
nc -c ./x h 1
socat - EXEC:./x
rg --pre ./x a
rg --hostname-bin=./x a
ag --pager ./x a
bat --pager=./x a
less -k x a
less +v a
less --lesskey-src=x a
man -P ./x ls
man -H./x ls
man -C x ls
vim a
vim -c '!x' a
ed a
emacs --eval x
zip -TT ./x a b
7z a -w. x
patch -g1 a
sort --compress-program=./x a
sort --compress-p ./x a
split --filter=./x a
pandoc -F ./x a
pandoc --lua-filter x a
pandoc -d x a
pandoc -o .bashrc a
pdflatex -shell-escape a
pdflatex --shell-escape a
pdflatex '\write18{x}'
latexmk -e x a
latexmk -r x a
xmllint --shell a
xsltproc --path x a b
convert 'msl:x' a.png
convert a.png '|x'
ffmpeg -i a -filter_complex movie=x b
ffmpeg -i 'concat:x' b
gs -dNOSAFER a.ps
gs -sOutputFile=%pipe%x a.ps
dot -lx a.dot
yq -i '.a=1' a.yaml
ctags --options=x
file -C -m x
file -m x a
pv -P x a
systemctl -H x status
systemctl edit a
journalctl -D x
journalctl --root=x
gdb a
gdb -p 1
lldb a
at now
batch
crontab x
crontab -e
hg --config x=y st
hg --config=extensions.x=./x st
svn --config-dir x st
svn diff --diff-cmd ./x
pre-commit run -c x
tox -c x
nox -f x
brew install --plugin x
apt-get -o x=y update
apt -c x list
clang-tidy -load ./x a.c
clang-tidy --extra-arg=x a.c
clang-format -files=x
bison -S x a.y
flex -S x a.l
bison --skeleton=x a.y
xcrun --sdk x ls
nix build --expr x
nix-env -f x -i y
ghc -e x
ghc -pgmF ./x a.hs
m4 -R x
dc -e '!x'
dc -f x
ftp -x h
mutt -e x
cargo build --target-runner=./x
golangci-lint run -c x.yml
golangci-lint run --config=x.yml
gosec -conf x ./...
set -a; X=./x; make
set -o allexport; X=./x; make
X=./x; export X; make
ccache gcc -fplugin=./x a.c
webpack --config x
vite -c x
esbuild --inject:./x a
sphinx-build -c x a b
rpm --eval x
rpm -E x
insmod x.ko
make -f <(x)
X=./x; declare -x X; make
`) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var programs []string
		for _, name := range strings.Fields(line) {
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_+") == "" && name[0] != '-' {
				programs = append(programs, name)
			}
		}
		e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{{
			Tools: []string{"run_shell_command"}, Decision: policy.Allow, CommandPrefix: programs, Priority: 1, Tier: policy.TierUser,
		}}})
		require.NoError(t, err)
		if d := decide(t, e, line, policy.ModeDefault); d.Decision != policy.AskUser {
			t.Errorf("%q: %s: %s", line, d.Decision, d.Reason)
		}
	}
}
