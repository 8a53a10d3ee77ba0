package shell

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fit are lines that may be run as checks, one a line.
const fit = `go run . get x
cargo run add 1
npm test -- --update x
make -C sub test
psql -c 'select 1' db
go test ./...
make
make -j4 test
pytest
./greet Bob
./manage.py delete-user x
test -f hello.txt
[ -f hello.txt ]
[[ -f x ]]
! grep -q x f
cd sub && make
echo hi | ./run
python3 -c 'import x'
python3 app.py install rm
python3 -m pytest -q
python3 -m py_compile a.py
node -e 'console.log(1)'
git diff --quiet
git status --porcelain
git log -1 --format=%s
git ls-files | grep -q '\.go$'
npm test
npm run build
npm ci
cargo test
cargo fmt --check
grep 你好 f
grep '完成；' f
grep -rn 'rm -rf' scripts
grep -q 'git push' README.md
test $(wc -l < f) -eq 3
time make
timeout 5 ./x
timeout -s KILL 5 ./x
timeout 5 grep -q rm f
env FOO=1 make test
nice -n 5 make
xargs -I {} ./x {} < list
bash -c './x && test -f y'
bash x.sh
bash -n "./$f"
for f in a b; do bash -n ./"$f"; done
sh ./x.sh --delete
if grep -q x f; then exit 1; fi
for i in 1 2; do ./x $i; done
(( $(wc -l < f) == 3 ))
'./a b.sh' x
. ./x && y
nonesuch-linter -q src
./x > /dev/null
./x 2>&1 | grep -c x
./x 2>/dev/null
f=$(mktemp); ./x > "$f" && cmp "$f" want
diff <(./x) want
curl -s http://localhost:8080/x
curl -sSf -o /dev/null -w '%{http_code}' "http://localhost:$PORT"
wget -qO- http://localhost/x
sqlite3 a.db 'select count(*) from t'
tar -tf a.tar
find . -name '*.go'
sed -n 3p f
awk '{print $1}' f
sort f | uniq -c
./x | tee /dev/stderr | grep -q y
go vet ./... && go build ./...
go build -o /dev/null ./...
gofmt -l .
black --check .
poetry run pytest
npx tsc --noEmit
kubectl get pods
command -v jq
f() { ./x "$1"; }; f 1
mkdir -p out && ./x out
shellcheck x.sh
printf 'a\n' | ./x`

// unfitLines are lines that must not be, with their harm.
const unfitLines = `idle	true
idle	false
idle	echo ok
idle	echo ok && true
idle	sleep 1
hidden	python3
idle	id
idle	ls
idle	cd sub
idle	# nothing
idle	
deletes	rm -rf data
deletes	rm -rf build && make
deletes	make; /bin/rm x
deletes	\rm x
deletes	'rm' x
deletes	r''m x
deletes	{rm,-rf,data}
deletes	mv a b
deletes	cp a b
deletes	truncate -s0 x
deletes	truncate -s 0 x
deletes	shred x
deletes	unlink x
deletes	rmdir x
deletes	dd if=/dev/zero of=x
deletes	mkfs.ext4 /dev/sda
deletes	ln -sf a b
deletes	chmod -R 777 .
system	chown x y
deletes	find . -delete
deletes	find . -exec rm {} +
deletes	find . -ok rm {} ;
deletes	find . -name x -fprint y
deletes	sed -i s/a/b/ f
deletes	sed -n 'w x' f
deletes	perl -pi -e s/a/b/ f
deletes	awk '{print > "x"}' f
deletes	sort -o f f
deletes	uniq a b
deletes	gofmt -w .
deletes	black .
deletes	eslint --fix .
deletes	cargo fmt
deletes	go mod tidy
deletes	go clean -cache
deletes	timeout 5 rm x
deletes	nice -n 5 rm x
deletes	env -u A B=1 rm x
deletes	env rm x
deletes	nohup rm x
deletes	command rm x
deletes	exec rm x
deletes	xargs rm < list
deletes	ls | xargs -I {} rm {}
deletes	setsid rm x
deletes	stdbuf -oL rm x
deletes	flock l rm x
deletes	busybox rm x
deletes	time rm x
deletes	bash -c 'rm x'
deletes	bash -ec "bash -c 'rm x'"
deletes	timeout 5 bash -c 'make && rm x'
deletes	echo $(rm x)
deletes	echo ` + "`rm x`" + `
deletes	(rm x)
deletes	{ rm x; }
deletes	ls | rm x
deletes	if x; then rm y; fi
deletes	while x; do rm y; done
deletes	f() { rm x; }; f
deletes	cat <(rm x)
deletes	[[ $(rm x) ]]
deletes	cat <<< "$(rm x)"
deletes	npx rimraf x && rm x
deletes	poetry run rm x
deletes	sqlite3 a.db 'drop table t'
hidden	sqlite3 a.db < drop.sql
hidden	psql -f x.sql
hidden	. <(echo rm x)
hidden	. /dev/stdin <<< 'rm x'
sends	make -C sub deploy
sends	make test deploy
sends	npm --prefix sub publish
sends	cargo +nightly publish
sends	yarn workspace a publish
sends	./gradlew publish
deletes	tar xf a.tar
deletes	gzip f
deletes	python3 -m black .
writes	./x > out
writes	./x >> out
writes	./x &> out
writes	: > x && make
writes	./x <> f
writes	./x >| f
writes	./x | tee out
writes	./x > "$f"
writes	f=$(mktemp); f=data; ./x > "$f"
git	git push
git	git push origin main
git	make && git push
git	timeout 5 git push
git	bash -c 'git push'
git	git -c x=y -C d commit -m x
git	git reset --hard
git	git clean -fd
git	git checkout -b x
git	git branch x
git	git tag v1
git	git stash
git	git apply x
git	git config user.name x
git	env -i git push
git	poetry run git push
sends	curl -X DELETE http://x
sends	curl -sXDELETE http://x
sends	curl -d a=b http://x
sends	curl -F f=@x http://x
sends	curl -T x http://x
sends	curl -o f http://x
sends	curl -O http://x/f
sends	curl --data-binary @f http://x
sends	wget http://x
sends	wget --post-data=x -O- http://x
sends	ssh h rm x
sends	scp a h:b
sends	rsync -a a b
sends	nc h 1
sends	npm publish
sends	npm run deploy
sends	cargo publish
sends	twine upload x
sends	gem push x
sends	gh release create v1
sends	aws s3 rm s3://x
sends	gcloud x
sends	helm install x y
sends	terraform apply
sends	make deploy
sends	kubectl delete pod y
sends	if x; then kubectl delete pod y; fi
system	docker run x
system	docker rm x
system	podman rm x
system	kill 1
system	pkill x
system	killall x
system	sudo make install
system	doas x
system	su -c x
system	systemctl stop x
system	crontab -r
system	shutdown now
system	apt-get install x
system	brew install x
system	pip install x
system	python3 -m pip install x
system	cargo install x
system	go install ./...
system	make install
waits	vim x
waits	/usr/bin/vim x
waits	less f
hidden	eval 'rm x'
hidden	$X y
hidden	"$X" y
hidden	$(cat cmd) x
hidden	X=rm; $X -rf data
hidden	r? x
hidden	timeout 5 $X
hidden	timeout $T $X
hidden	bash -c "$X"
hidden	echo 'rm x' | bash
hidden	bash -s < x
deletes	bash -n +n -c 'rm x'
hidden	bash -n "$f"
hidden	bash <<< 'rm x'
hidden	trap 'rm x' EXIT
hidden	env -S 'rm x'
hidden	GIT_EXTERNAL_DIFF=x git diff
hidden	BASH_ENV=x bash y.sh
hidden	env BASH_ENV=x bash y.sh
hidden	python3 -c 'import os; os.remove("x")'
hidden	python3 - < x
hidden	echo x | python3 -
hidden	perl -e 'unlink "x"'
hidden	node -e 'require("fs").rmSync("x")'
hidden	grep “x” f
hidden	ls –la
hidden	it's`

func TestUnfit(t *testing.T) {
	for line := range strings.SplitSeq(fit, "\n") {
		if err := Unfit(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for row := range strings.SplitSeq(unfitLines, "\n") {
		harm, line, ok := strings.Cut(row, "\t")
		var unfit *UnfitError
		if err := Unfit(line); !ok || !errors.As(err, &unfit) || string(unfit.Harm) != harm || !strings.HasPrefix(unfit.Error(), "not run: ") {
			t.Errorf("%s: %v, want %s", line, err, harm)
		}
	}
	if err := Unfit(strings.Repeat("x", maxLine+1)); err == nil {
		t.Error("a line without end is accepted")
	}
	if err := Unfit(strings.Repeat("env -a ", 2000) + "x"); err == nil { // n to the fourth, if it were not bounded
		t.Error("a line that is nothing but programs that start others is accepted")
	}
}

// TestWhatIsFitLeavesFilesAlone runs with bash what was judged fit, with every program of the table replaced by one that
// leaves a mark.
func TestWhatIsFitLeavesFilesAlone(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to compare with")
	}
	dir, bin := t.TempDir(), t.TempDir()
	mark := filepath.Join(bin, "mark")
	for name := range harmful {
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == "" {
			if err := os.WriteFile(filepath.Join(bin, name), []byte("#!"+bash+"\necho \"$0\" >>'"+mark+"'\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(line string) string {
		_ = os.Remove(mark)
		cmd := exec.Command(bash, "-c", line)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + dir}
		_ = cmd.Run() // how it ends is not asked
		b, _ := os.ReadFile(mark)
		return string(b)
	}
	for line := range strings.SplitSeq(fit, "\n") {
		for _, program := range []string{"go ", "make", "cargo", "npm", "npx", "curl", "wget", "kubectl", "poetry", "python", "node"} {
			if strings.Contains(line, program) {
				line = "" // not on this PATH, or slow
			}
		}
		if got := run(line); got != "" {
			t.Errorf("%s started %s", line, got)
		}
	}
	if run("timeout 5 rm x") == "" {
		t.Error("the mark is not made")
	}
}

func FuzzUnfit(f *testing.F) {
	for line := range strings.SplitSeq(fit, "\n") {
		f.Add(line)
	}
	for row := range strings.SplitSeq(unfitLines, "\n") {
		_, line, _ := strings.Cut(row, "\t")
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if err := Unfit(line); err != nil {
			if strings.ContainsAny(err.Error(), "\n\x00") {
				t.Fatalf("%q is no line", err)
			}
			return
		}
		for _, worse := range []string{"git push && " + line, line + "\nrm -rf data", "x=$(rm y); " + line, "timeout 5 mv a b; " + line} {
			if Unfit(worse) == nil && !strings.Contains(line, "<<") {
				t.Fatalf("%q counts as a check", worse)
			}
		}
	})
}
