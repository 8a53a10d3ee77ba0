package demo

var japanese = &words{
	lang:   "ja",
	ask:    "ファイルの単語数を数える小さなプログラム",
	answer: "sh だけで、何もインストールせずに",
	begin: `flower の仕事の全体を小さくしたものです。モデルは 127.0.0.1 上の台本ですが、質問、文書、担当、そのツール、検査は本物です。作業ディレクトリ:
%s`,
	killed: "強制終了:プロセス %d は担当の作業中に SIGKILL を受け、何も片付けられませんでした。ディスクにあるもの:",
	again:  "同じディレクトリで、何も言わずにもう一度起動します:",
	same:   "前からのセッション(=)と、後からのセッション(+):",
	built:  "できたものを、もう一度動かします:",
	took:   "所要時間 %s、要求 %d 回。",
	kept:   "見てみるには:%s",
	real: `本物の接続先で使うには:
  export ANTHROPIC_API_KEY=...          # または ANTHROPIC_AUTH_TOKEN。ゲートウェイなら ANTHROPIC_BASE_URL も
  cd あなたのプロジェクト
  flower "やってほしいことを一言で"
いつ止めても構いません。同じディレクトリで flower と打てば続きから始まります。`,
	narration: map[string]string{
		"clarifier":   "1/3 聞き取り役がディレクトリを見て、必要なことを尋ねます。デモが代わりに答えます。",
		"goal setter": "2/3 答えは固定され、ここで検査できる目標になります。",
		"coordinator": "3/3 ファイルに触れられない進行役が、仕事を担当に渡します。",
		"worker":      "担当が二人、それぞれ自分の会話の中で同時に働きます。",
		"judge":       "作業をまったく見ていない判定者が検査を動かします。",
	},
	think: "小さな仕事だ。まず何があるか見よう。", look: "ここに何があるか見ます。", lookAround: "様子を見る",
	question1: "何を一語と数えますか?", options1: []string{"空白で区切られたものすべて", "文字だけのもの"},
	question2: "どの言語で書きますか?", options2: []string{"sh", "Python", "Go"},
	noAnswer: "(仮定)",
	brief: `## 目標
ファイルの単語数を表示するプログラム。一語とは:%s。

## 受け入れ基準
- 見本のファイルで数が正しい
- 存在しないファイルは、わかりやすい一言で断る

## 境界
書く言語:%s。ほかのオプションはなし。

## 不明点と前提
ファイルは UTF-8 のテキスト。
`,
	goal: "# 目標\n\n`count.sh` はファイルの単語数を表示し、ないファイルは断る。\n\n# 判定リスト\n\n" +
		"- `./count.sh sample.txt` が 9 を表示する\n- `./count.sh missing.txt` が一行のエラーを表示し、終了コード 2 で終わる\n- README.md に呼び方が書いてある\n",
	plan:   "同じファイルに触れない二つの部分です:プログラムと、見本および README。同時にできます。",
	todo:   []string{"count.sh", "sample.txt と README.md", "ないファイルを断る"},
	title1: "count.sh を書く", task1: "作業ディレクトリに count.sh を書く:素の sh で、最初の引数のファイルの単語数を表示する。実行できるようにし、自分の文で試して報告する。",
	title2: "見本と README", task2: "作業ディレクトリに sample.txt(二行、九語)と README.md(count.sh の呼び方)を書く。ほかのファイルには触れない。報告する。",
	title3: "ないファイルを断る", task3: "作業ディレクトリの count.sh は、ないファイルを断らない。その場合は標準エラーに一行を出し、終了コード 2 で終わるようにする。sample.txt と missing.txt で試して報告する。",
	tryIt: "試す", check1: "見本を数える", check2: "ないファイル",
	readme:  "# count.sh\n\n    ./count.sh ファイル\n\nファイルの単語数を表示する。終了コード 2:そのファイルはない。\n",
	done1:   "count.sh を書き、実行できるようにした。三語の文で 3 と出た。ないファイルは試していない。",
	done2:   "sample.txt は wc で九語。README.md に呼び方がある。",
	done3:   "count.sh はないファイルを一行と終了コード 2 で断るようになった。見本は今も 9。",
	report1: "count.sh、sample.txt、README.md ができた。担当は自分の文で正しい数を見た。",
	plan2:   "判定者の言うとおり、ないファイルの扱いがなかった。担当が一人で直す。",
	report2: "count.sh はないファイルを終了コード 2 で断る。見本は今も 9。どちらも動かした。",
	achieved: `## 結論
達成

## 理由
count.sh は見本で 9 を表示し、ないファイルでは 2 で終わった。README.md に呼び方がある。

## 不合格
`,
	notYet: "## 結論\n未達成\n\n## 理由\n見本の数は正しいが、ないファイルで終了コードが 2 にならない。\n\n## 不合格\n- `./count.sh missing.txt` が一行のエラーを表示し、終了コード 2 で終わる\n",
	broken: "## 結論\n未達成\n\n## 理由\n見本の数が正しくない。\n\n## 不合格\n- `./count.sh sample.txt` が 9 を表示する\n",
}

var french = &words{
	lang:   "fr",
	ask:    "un petit programme qui compte les mots d'un fichier",
	answer: "en sh pur, sans rien installer",
	begin: `Tout le travail de flower, en petit. Le modèle est un script sur 127.0.0.1 ; les questions, les documents, les exécutants, leurs outils et les contrôles sont vrais. L'espace de travail :
%s`,
	killed: "TUÉ : le processus %d a reçu SIGKILL en plein travail des exécutants. Rien n'a été rangé. Sur le disque :",
	again:  "On le relance dans le même répertoire, sans un mot :",
	same:   "Les sessions d'avant (=) et celles d'après (+) :",
	built:  "Ce qui a été construit, lancé encore une fois :",
	took:   "Cela a pris %s et %d requêtes.",
	kept:   "À regarder ici : %s",
	real: `Avec un vrai point d'accès :
  export ANTHROPIC_API_KEY=...          # ou ANTHROPIC_AUTH_TOKEN, et ANTHROPIC_BASE_URL pour une passerelle
  cd votre/projet
  flower "ce que vous voulez, en une phrase"
Arrêtez-le quand vous voulez ; flower dans le même répertoire reprend.`,
	narration: map[string]string{
		"clarifier":   "1/3 Un clarificateur regarde le répertoire et demande ce qu'il doit savoir. La démo répond pour vous.",
		"goal setter": "2/3 Les réponses sont gelées. Elles deviennent un objectif vérifiable ici.",
		"coordinator": "3/3 Un coordinateur qui ne peut toucher aucun fichier confie le travail à des exécutants.",
		"worker":      "Deux exécutants travaillent en même temps, chacun dans sa conversation.",
		"judge":       "Un juge qui n'a rien vu du travail lance les contrôles.",
	},
	think: "Un petit travail. Voyons d'abord ce qu'il y a.", look: "Je regarde ce qu'il y a ici.", lookAround: "Regarder autour",
	question1: "Qu'est-ce qu'un mot ?", options1: []string{"Tout ce qui est entre des espaces", "Les lettres seulement"},
	question2: "Dans quel langage l'écrire ?", options2: []string{"sh", "Python", "Go"},
	noAnswer: "(supposé)",
	brief: `## Objectif
Un programme qui affiche combien de mots compte un fichier. Un mot, c'est : %s.

## Critères d'acceptation
- le nombre est juste pour un fichier d'exemple
- un fichier qui n'existe pas est refusé par un message clair

## Limites
Écrit en : %s. Pas d'autres options.

## Inconnues et hypothèses
Les fichiers sont du texte UTF-8.
`,
	goal: "# Objectif\n\n`count.sh` affiche le nombre de mots d'un fichier et refuse un fichier absent.\n\n# Liste de contrôle\n\n" +
		"- `./count.sh sample.txt` affiche 9\n- `./count.sh missing.txt` affiche une ligne d'erreur et finit avec le code 2\n- README.md dit comment l'appeler\n",
	plan:   "Deux parties qui ne touchent pas les mêmes fichiers : le programme, et un exemple avec un README. Elles peuvent se faire en même temps.",
	todo:   []string{"count.sh", "sample.txt et README.md", "refuser un fichier absent"},
	title1: "écrire count.sh", task1: "Écris count.sh dans l'espace de travail : en sh pur, il affiche le nombre de mots du fichier donné en premier argument. Rends-le exécutable, essaie-le sur un texte à toi, fais ton rapport.",
	title2: "exemple et README", task2: "Écris sample.txt (deux lignes, neuf mots) et README.md (comment appeler count.sh) dans l'espace de travail. Ne touche pas aux autres fichiers. Fais ton rapport.",
	title3: "refuser un fichier absent", task3: "Le count.sh de l'espace de travail ne refuse pas un fichier absent. Qu'il écrive alors une ligne sur l'erreur standard et finisse avec le code 2. Essaie avec sample.txt et missing.txt, fais ton rapport.",
	tryIt: "Essayer", check1: "Compter l'exemple", check2: "Un fichier absent",
	readme:  "# count.sh\n\n    ./count.sh FICHIER\n\naffiche le nombre de mots de FICHIER. Code de sortie 2 : ce fichier n'existe pas.\n",
	done1:   "count.sh est écrit et exécutable ; sur un texte de trois mots il affiche 3. Pas essayé : un fichier absent.",
	done2:   "sample.txt a neuf mots selon wc ; README.md montre l'appel.",
	done3:   "count.sh refuse maintenant un fichier absent par une ligne et le code 2 ; l'exemple donne toujours 9.",
	report1: "count.sh, sample.txt et README.md sont là. Un exécutant a vu le bon nombre sur un texte à lui.",
	plan2:   "Le juge a raison : un fichier absent n'était pas traité. Un exécutant corrige cela.",
	report2: "count.sh refuse un fichier absent avec le code 2 ; l'exemple donne toujours 9. Les deux ont été lancés.",
	achieved: `## Conclusion
atteint

## Raison
count.sh a affiché 9 pour l'exemple et a fini avec 2 pour un fichier absent ; README.md montre l'appel.

## Échecs
`,
	notYet: "## Conclusion\npas encore\n\n## Raison\nLe nombre de l'exemple est juste, mais un fichier absent ne mène pas au code 2.\n\n## Échecs\n- `./count.sh missing.txt` affiche une ligne d'erreur et finit avec le code 2\n",
	broken: "## Conclusion\npas encore\n\n## Raison\nL'exemple n'a pas été bien compté.\n\n## Échecs\n- `./count.sh sample.txt` affiche 9\n",
}

var german = &words{
	lang:   "de",
	ask:    "ein kleines Programm, das die Wörter einer Datei zählt",
	answer: "reines sh, nichts zu installieren",
	begin: `Die ganze Arbeit von flower im Kleinen. Das Modell ist ein Skript auf 127.0.0.1; Fragen, Dokumente, Arbeiter, ihre Werkzeuge und die Prüfungen sind echt. Das Arbeitsverzeichnis:
%s`,
	killed: "GETÖTET: Prozess %d bekam SIGKILL, während seine Arbeiter arbeiteten. Nichts wurde aufgeräumt. Auf der Platte:",
	again:  "Noch einmal gestartet, im selben Verzeichnis, ohne ein Wort:",
	same:   "Die Sitzungen von vorher (=) und seither (+):",
	built:  "Was gebaut wurde, noch einmal ausgeführt:",
	took:   "Das dauerte %s und brauchte %d Anfragen.",
	kept:   "Zum Ansehen: %s",
	real: `Mit einem echten Endpunkt:
  export ANTHROPIC_API_KEY=...          # oder ANTHROPIC_AUTH_TOKEN, und ANTHROPIC_BASE_URL für ein Gateway
  cd mein/projekt
  flower "was getan werden soll, in einem Satz"
Anhalten geht jederzeit; flower im selben Verzeichnis macht weiter.`,
	narration: map[string]string{
		"clarifier":   "1/3 Ein Klärer sieht sich im Verzeichnis um und fragt, was er wissen muss. Die Demo antwortet.",
		"goal setter": "2/3 Die Antworten werden festgehalten. Aus ihnen wird ein Ziel, das sich hier prüfen lässt.",
		"coordinator": "3/3 Ein Koordinator, der keine Datei anfassen kann, gibt die Arbeit an Arbeiter.",
		"worker":      "Zwei Arbeiter arbeiten gleichzeitig, jeder in einem eigenen Gespräch.",
		"judge":       "Ein Richter, der nichts von der Arbeit gesehen hat, führt die Prüfungen aus.",
	},
	think: "Eine kleine Arbeit. Erst sehen, was da ist.", look: "Ich sehe nach, was hier ist.", lookAround: "Umsehen",
	question1: "Was zählt als Wort?", options1: []string{"Alles zwischen Leerzeichen", "Nur Buchstaben"},
	question2: "In welcher Sprache soll es geschrieben sein?", options2: []string{"sh", "Python", "Go"},
	noAnswer: "(angenommen)",
	brief: `## Ziel
Ein Programm, das ausgibt, wie viele Wörter eine Datei hat. Ein Wort ist: %s.

## Abnahmekriterien
- die Zahl für eine Beispieldatei stimmt
- eine Datei, die es nicht gibt, wird mit einer klaren Meldung abgelehnt

## Grenzen
Geschrieben in: %s. Keine weiteren Optionen.

## Unbekanntes und Annahmen
Dateien sind UTF-8-Text.
`,
	goal: "# Ziel\n\n`count.sh` gibt die Zahl der Wörter einer Datei aus und lehnt eine fehlende Datei ab.\n\n# Prüfliste\n\n" +
		"- `./count.sh sample.txt` gibt 9 aus\n- `./count.sh missing.txt` gibt eine Fehlerzeile aus und endet mit 2\n- README.md sagt, wie man es aufruft\n",
	plan:   "Zwei Teile, die nicht dieselben Dateien anfassen: das Programm, und ein Beispiel mit README. Beides geht gleichzeitig.",
	todo:   []string{"count.sh", "sample.txt und README.md", "fehlende Datei ablehnen"},
	title1: "count.sh schreiben", task1: "Schreibe count.sh ins Arbeitsverzeichnis: reines sh, gibt die Zahl der Wörter der Datei aus, die das erste Argument nennt. Mach es ausführbar, probiere es an einem eigenen Text, berichte.",
	title2: "Beispiel und README", task2: "Schreibe sample.txt (zwei Zeilen, neun Wörter) und README.md (wie man count.sh aufruft) ins Arbeitsverzeichnis. Fass keine anderen Dateien an. Berichte.",
	title3: "fehlende Datei ablehnen", task3: "count.sh im Arbeitsverzeichnis lehnt eine fehlende Datei nicht ab. Es soll dann eine Zeile auf die Standardfehlerausgabe schreiben und mit 2 enden. Probiere es mit sample.txt und missing.txt, berichte.",
	tryIt: "Ausprobieren", check1: "Das Beispiel zählen", check2: "Eine fehlende Datei",
	readme:  "# count.sh\n\n    ./count.sh DATEI\n\ngibt die Zahl der Wörter von DATEI aus. Exit-Code 2: die Datei gibt es nicht.\n",
	done1:   "count.sh ist geschrieben und ausführbar; an einem Text von drei Wörtern gab es 3 aus. Nicht probiert: eine fehlende Datei.",
	done2:   "sample.txt hat nach wc neun Wörter; README.md zeigt den Aufruf.",
	done3:   "count.sh lehnt eine fehlende Datei jetzt mit einer Zeile und Exit-Code 2 ab; das Beispiel ergibt weiter 9.",
	report1: "count.sh, sample.txt und README.md sind da. Ein Arbeiter sah an einem eigenen Text die richtige Zahl.",
	plan2:   "Der Richter hat recht: die fehlende Datei wurde nie behandelt. Ein Arbeiter bessert das nach.",
	report2: "count.sh lehnt eine fehlende Datei mit Exit-Code 2 ab; das Beispiel ergibt weiter 9. Beides wurde ausgeführt.",
	achieved: `## Ergebnis
erreicht

## Begründung
count.sh gab für das Beispiel 9 aus und endete bei einer fehlenden Datei mit 2; README.md zeigt den Aufruf.

## Nicht bestanden
`,
	notYet: "## Ergebnis\nnoch nicht\n\n## Begründung\nDie Zahl für das Beispiel stimmt, aber eine fehlende Datei führt nicht zu Exit-Code 2.\n\n## Nicht bestanden\n- `./count.sh missing.txt` gibt eine Fehlerzeile aus und endet mit 2\n",
	broken: "## Ergebnis\nnoch nicht\n\n## Begründung\nDas Beispiel wurde nicht richtig gezählt.\n\n## Nicht bestanden\n- `./count.sh sample.txt` gibt 9 aus\n",
}

var spanish = &words{
	lang:   "es",
	ask:    "un programa pequeño que cuente las palabras de un archivo",
	answer: "sh puro, sin instalar nada",
	begin: `Todo el trabajo de flower, en pequeño. El modelo es un guion en 127.0.0.1; las preguntas, los documentos, los ejecutores, sus herramientas y las comprobaciones son de verdad. El espacio de trabajo:
%s`,
	killed: "MATADO: el proceso %d recibió SIGKILL mientras sus ejecutores trabajaban. No se recogió nada. En el disco:",
	again:  "Se inicia otra vez en el mismo directorio, sin decir nada:",
	same:   "Las sesiones de antes (=) y de después (+):",
	built:  "Lo que se construyó, ejecutado una vez más:",
	took:   "Tardó %s y necesitó %d peticiones.",
	kept:   "Para verlo: %s",
	real: `Con un servicio de verdad:
  export ANTHROPIC_API_KEY=...          # o ANTHROPIC_AUTH_TOKEN, y ANTHROPIC_BASE_URL para una pasarela
  cd su/proyecto
  flower "lo que quiere, en una frase"
Deténgalo cuando quiera; flower en el mismo directorio sigue.`,
	narration: map[string]string{
		"clarifier":   "1/3 Un aclarador mira el directorio y pregunta lo que debe saber. La demo responde por usted.",
		"goal setter": "2/3 Las respuestas se congelan. Se convierten en un objetivo que aquí se puede comprobar.",
		"coordinator": "3/3 Un coordinador que no puede tocar ningún archivo reparte el trabajo a ejecutores.",
		"worker":      "Dos ejecutores trabajan a la vez, cada uno en su propia conversación.",
		"judge":       "Un juez que no ha visto nada del trabajo ejecuta las comprobaciones.",
	},
	think: "Un trabajo pequeño. Primero ver qué hay.", look: "Miro qué hay aquí.", lookAround: "Mirar alrededor",
	question1: "¿Qué cuenta como palabra?", options1: []string{"Todo lo que está entre espacios", "Solo letras"},
	question2: "¿En qué lenguaje se escribe?", options2: []string{"sh", "Python", "Go"},
	noAnswer: "(supuesto)",
	brief: `## Objetivo
Un programa que muestra cuántas palabras tiene un archivo. Una palabra es: %s.

## Criterios de aceptación
- el número de un archivo de ejemplo es correcto
- un archivo que no existe se rechaza con un mensaje claro

## Límites
Escrito en: %s. Sin más opciones.

## Incógnitas y supuestos
Los archivos son texto UTF-8.
`,
	goal: "# Objetivo\n\n`count.sh` muestra el número de palabras de un archivo y rechaza un archivo que no existe.\n\n# Lista de comprobación\n\n" +
		"- `./count.sh sample.txt` muestra 9\n- `./count.sh missing.txt` muestra una línea de error y termina con 2\n- README.md dice cómo llamarlo\n",
	plan:   "Dos partes que no tocan los mismos archivos: el programa, y un ejemplo con un README. Se pueden hacer a la vez.",
	todo:   []string{"count.sh", "sample.txt y README.md", "rechazar un archivo que no existe"},
	title1: "escribir count.sh", task1: "Escribe count.sh en el espacio de trabajo: sh puro, muestra el número de palabras del archivo dado como primer argumento. Hazlo ejecutable, pruébalo con un texto tuyo, informa.",
	title2: "ejemplo y README", task2: "Escribe sample.txt (dos líneas, nueve palabras) y README.md (cómo llamar a count.sh) en el espacio de trabajo. No toques otros archivos. Informa.",
	title3: "rechazar lo que no existe", task3: "El count.sh del espacio de trabajo no rechaza un archivo que no existe. Que entonces escriba una línea en el error estándar y termine con 2. Pruébalo con sample.txt y missing.txt, informa.",
	tryIt: "Probarlo", check1: "Contar el ejemplo", check2: "Un archivo que no existe",
	readme:  "# count.sh\n\n    ./count.sh ARCHIVO\n\nmuestra el número de palabras de ARCHIVO. Código de salida 2: no existe ese archivo.\n",
	done1:   "count.sh está escrito y es ejecutable; con un texto de tres palabras mostró 3. Sin probar: un archivo que no existe.",
	done2:   "sample.txt tiene nueve palabras según wc; README.md muestra la llamada.",
	done3:   "count.sh ahora rechaza un archivo que no existe con una línea y código 2; el ejemplo sigue dando 9.",
	report1: "count.sh, sample.txt y README.md están. Un ejecutor vio el número correcto con un texto suyo.",
	plan2:   "El juez tiene razón: nunca se trató el archivo que no existe. Un ejecutor lo arregla.",
	report2: "count.sh rechaza un archivo que no existe con código 2; el ejemplo sigue dando 9. Se ejecutaron ambos.",
	achieved: `## Conclusión
cumplido

## Motivo
count.sh mostró 9 para el ejemplo y terminó con 2 para un archivo que no existe; README.md muestra la llamada.

## No superado
`,
	notYet: "## Conclusión\naún no\n\n## Motivo\nEl número del ejemplo es correcto, pero un archivo que no existe no lleva al código 2.\n\n## No superado\n- `./count.sh missing.txt` muestra una línea de error y termina con 2\n",
	broken: "## Conclusión\naún no\n\n## Motivo\nEl ejemplo no se contó bien.\n\n## No superado\n- `./count.sh sample.txt` muestra 9\n",
}
