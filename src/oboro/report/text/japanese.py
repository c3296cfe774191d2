"""The Japanese of everything that a report says; `{…}` stands for whatever came there. See `language.py`."""

from __future__ import annotations

from oboro.report.text.japanese_tables import TABLES
from oboro.report.text.japanese_verdict import VERDICT

__all__ = ["JAPANESE", "PICTURE_WORDS"]

PICTURE_WORDS = frozenset(
    {
        "share of rows",
        "rows in a class",
        "share that was right",
        "levels in all",
        "loss",
        "seconds",
        "(missing)",
        "(other)",
    }
    | {"one quasi-id", "all quasi-ids", "… numbers by side", "one column", "three columns", "… by side"}
    | {"two halves", "nearest record", "inference", "plain digests", "row order"}
)
"""Words in pictures that are ours; everything else in a picture comes from a table."""

_PAGE = {
    "Anonymization report": "匿名加工報告書",
    "It is not legal advice.": "法的助言ではありません。",
    "Made by oboro. This page loads nothing from elsewhere and holds no record of either table.": (
        "oboro が作成しました。このページは外部から何も読み込まず、どちらの表のレコードも含みません。"
    ),
    "{a} rows in, {b} out; {c} columns in, {d} out": "入力 {a} 行・{c} 列、出力 {b} 行・{d} 列",
    "{a} rows and {b} columns released; the version for the public": "提供 {a} 行・{b} 列(公開版)",
    "before": "加工前",
    "after": "加工後",
    "table": "表",
    "sections": "目次",
    "Glance": "概要",
    "Promises": "約束",
    "Warnings": "注意",
    "Risk": "リスク",
    "Attacks": "攻撃",
    "Alone": "一意性",
    "Loss": "損失",
    "Statistics": "統計",
    "Pairs": "列の関係",
    "Columns": "列",
    "Solution": "解",
    "Stream": "ストリーム",
    "Steps": "処理",
    "APPI": "個人情報保護法",
    "HIPAA": "HIPAA",
    "WP216": "WP216",
    "Counting": "数え方",
    "Provenance": "証跡",
    "Recipe": "レシピ",
    "ISO/IEC 20889": "ISO/IEC 20889",
}

_RISK = {
    "Risk of being recognised": "再識別リスク",
    "risk": "リスク",
    "How many rows look alike": "同じに見える行の数",
    "rows that look like no other row": "他のどの行とも異なる行",
    "Rows by the size of the class they stand in: all rows that agree on every quasi-identifier. "
    "Who stands at the far left can be singled out.": (
        "準識別子がすべて一致する行のグループの大きさごとの行数。左端の行は個人を選び出せます。"
    ),
    "Measured over {quasi}, for an attacker who knows these of a person. A prosecutor knows that the person is in the "
    "table, a journalist does not, a marketer wants to recognise as many people as possible. Lower is better.": (
        "{quasi} を知る攻撃者に対して測りました。検察官モデルは本人が表にいることを知り、ジャーナリストモデルは知らず、"
        "マーケターモデルはできるだけ多くの人の識別を狙います。小さいほど良い値です。"
    ),
    "prosecutor: the most exposed record": "検察官モデル・最大",
    "prosecutor: on average": "検察官モデル・平均",
    "prosecutor: records above the threshold": "検察官モデル・閾値超",
    "journalist: the most exposed record": "ジャーナリストモデル・最大",
    "journalist: on average": "ジャーナリストモデル・平均",
    "journalist: records above the threshold": "ジャーナリストモデル・閾値超",
    "marketer": "マーケターモデル",
    "unique rows, share": "一意な行の割合",
    "the highest probability to recognise a record whose owner is known to be in the table": (
        "本人が表にいると知られている場合の、レコード識別確率の最大値"
    ),
    "the mean probability to recognise a record whose owner is known to be in the table": (
        "本人が表にいると知られている場合の、レコード識別確率の平均値"
    ),
    "the part of the records with a prosecutor risk above {t}": "検察官リスクが {t} を超えるレコードの割合",
    "the part of the records with a journalist risk above {t}": "ジャーナリストリスクが {t} を超えるレコードの割合",
    "the highest probability to recognise somebody of the population": "母集団の誰かを識別できる確率の最大値",
    "the mean probability to recognise somebody of the population": "母集団の誰かを識別できる確率の平均値",
    "the part of all records that a matching with the whole population gets right on average": (
        "母集団全体との照合で平均的に正しく結び付くレコードの割合"
    ),
    "the part of the records that stand alone in their class": "グループに自分しかいないレコードの割合",
    "This release is not made of classes of records that look alike over {quasi}: a record may look like no other and still "
    "be anybody's of many. Prosecutor, journalist and marketer risk and uniqueness count such classes and do not apply; "
    "they are not shown. What applies is how many people every record can be.": (
        "この提供データは {quasi} が一致するレコードのグループからなるものではありません。レコードは他のどれとも異なって見えても、"
        "多くの人の誰のものでもあり得ます。検察官・ジャーナリスト・マーケターの各リスクと一意性はグループを数えるものであり、"
        "適用されないため示しません。適用されるのは、各レコードが何人のものであり得るかです。"
    ),
    "The values of {quasi} were drawn, disturbed or moved by chance: a row that looks like no other need not be of the person "
    "with these values. Prosecutor, journalist and marketer risk and uniqueness count rows that look alike; they do not "
    "apply and are not shown. What applies is how often somebody who knows the true values links a person to the right "
    "record, and the other attacks below.": (
        "{quasi} の値は確率的に生成・撹乱・移動されています。他のどれとも異なって見える行が、その値を持つ本人の行とは限りません。"
        "検察官・ジャーナリスト・マーケターの各リスクと一意性は同じに見える行を数えるものであり、適用されないため示しません。"
        "適用されるのは、真の値を知る者が人を正しいレコードに結び付ける割合と、以下のその他の攻撃です。"
    ),
}

_ATTACKS = {
    "Attacks that were run": "実行した攻撃",
    "How often each attack was right": "各攻撃の正解率",
    "Dark: the attack; light: its control; lines: 95 % intervals.": "濃色:攻撃、淡色:対照群、線:95 % 信頼区間。",
    "Each attack guessed many times against the release and was judged by the original table. The control says how often "
    "the same guesses are right about people whose record cannot have helped; what an attack does beyond it is the risk "
    "of being in the release. Intervals are Wilson's, at 95 %; the risk is (attack − control) / (1 − control), both taken at "
    "the middle of their intervals. Lower is better.": (
        "各攻撃は提供データに対して多数回の推測を行い、元データで正誤を判定しました。対照群は、本人のレコードが役立ち得ない人々について"
        "同じ推測が当たる割合です。それを上回る分が、提供データに含まれることによるリスクです。区間はウィルソンの 95 % 信頼区間、"
        "リスクは、両者の区間の中央の値による(攻撃 − 対照)/(1 − 対照)です。小さいほど良い値です。"
    ),
    "attack": "攻撃",
    "right": "正解率",
    "control": "対照群",
    "no better": "対照群以下",
    "better than control": "対照群を上回る",
    "no guess possible": "推測できず",
    "too few guesses": "推測が少数",
    "within 1/k": "1/k 以内",
    "k-anonymity allows linking by distance with a probability of up to 1/k; its control is a guess by chance.": (
        "k-匿名性は距離による連結を確率 1/k まで許します。その対照群は無作為の推測です。"
    ),
    "singling out by one quasi-identifier": "選び出し:準識別子1つ",
    "singling out by all quasi-identifiers": "選び出し:全準識別子",
    "singling out by all quasi-identifiers, numbers above or below the median": "選び出し:全準識別子(数値は中央値の側)",
    "singling out by one column of any role": "選び出し:任意の1列",
    "singling out by three columns of any role": "選び出し:任意の3列",
    "singling out by three columns of any role, numbers above or below the median": "選び出し:任意の3列(数値は中央値の側)",
    "singling_out_univariate_quasi": "選び出し:準識別子1つ",
    "singling_out_multivariate_quasi": "選び出し:全準識別子",
    "singling_out_tails_quasi": "選び出し:全準識別子(数値は中央値の側)",
    "singling_out_univariate_any": "選び出し:任意の1列",
    "singling_out_multivariate_any": "選び出し:任意の3列",
    "singling_out_tails_any": "選び出し:任意の3列(数値は中央値の側)",
    "record_linkage": "距離による連結",
    "looking up hashes without a key": "鍵なしハッシュの辞書照合",
    "plain digests": "鍵なしハッシュ",
    "counting rows": "行の数え上げ",
    "row order": "行の順序",
    "people found by counting: originals stand in the order of a column that was dropped, and the release keeps it": (
        "数えるだけで見つかる人:元データが削除された列の順に並び、提供データもその順のままである場合"
    ),
    "original values whose digest without a secret (MD5, SHA-1, SHA-2) stands in a released column": (
        "鍵を用いないハッシュ値(MD5、SHA-1、SHA-2)が提供データの列に現れる元の値の割合"
    ),
    "as many values that nobody has": "誰も持たない同数の値",
    "linkability": "2つの半分の連結",
    "linking two halves": "2つの半分の連結",
    "linking by distance": "距離による連結",
    "inferring a secret": "秘密の推論",
    "inferring {name}": "{name} の推論",
    "descriptions by one value that is alone in the release, or at its end, which fit exactly one person": (
        "提供データに1つしかない値、又は端の値による記述が、ちょうど1人に当てはまる割合"
    ),
    "descriptions by what a released record says in several columns, which fit exactly one person": (
        "提供レコードの複数列の値による記述が、ちょうど1人に当てはまる割合"
    ),
    "the same with numbers described by the side of the median on which they lie": (
        "同上。数値は中央値のどちら側かで記述"
    ),
    "people whose two halves of the quasi-identifiers lead to the same released record": (
        "準識別子の2つの半分が同じ提供レコードに行き着く人の割合"
    ),
    "people whose secret is the usual one among the released records most like them ({form})": (
        "秘密の値が、最も近い提供レコードで最も多い値と一致する人の割合({form})"
    ),
    "a number within 5 % of theirs": "本人の値の 5 % 以内",
    "the same value": "同じ値",
    "released records that the person whose they are finds as the one most like them": (
        "本人の元の値に最も近い提供レコードが、本人のものである割合"
    ),
    "one half: {first}; the other: {second}": "半分の一方:{first}、他方:{second}",
    "the same descriptions among everybody but the person whose record each was made of": (
        "同じ記述を、その記述の元となったレコードの本人を除く全員に当てはめたもの"
    ),
    "the control group has only {count} people; its rate of singling out is scaled to as many as were released": (
        "対照群は {count} 人のみ。特定の率は提供された人数に合わせて換算しています"
    ),
    "labels that are not understood fit nobody, so that attacks look weaker than they are: {columns}": (
        "意味を読み取れないラベルは誰にも当てはまらないため、攻撃は実際より弱く見えます:{columns}"
    ),
    "the nearest records are looked for in {part} of {whole} classes, each person's own among them": (
        "最も近いレコードは {whole} 個の同値類のうち {part} 個（各人自身のものを含む）の中で探しています"
    ),
    "among fewer records each is easier to link, so that the rate of the whole table is at most this one, within the interval": (
        "レコードが少ないほど連結しやすいため、全体の率は区間の範囲でこれ以下です"
    ),
    "the same people, each with their own record taken out of the release": (
        "同じ人々(それぞれ本人のレコードを提供データから除いたもの)"
    ),
    "{count} people who are not in the table, given as the control group": (
        "対照群として与えられた、表に含まれない {count} 人"
    ),
    "{count} people of the original table of whom no record was released": (
        "元データのうちレコードが提供されなかった {count} 人"
    ),
    "as many descriptions put together from the values of different released records": (
        "異なる提供レコードの値を組み合わせた同数の記述"
    ),
    "as many descriptions by another value of the same column, of numbers the next one": (
        "同じ列の別の値(数値は隣の値)による同数の記述"
    ),
    "a released record drawn by chance": "無作為に選んだ提供レコード",
    "the usual value of the whole release, whoever the person is": "誰に対しても提供データ全体で最も多い値",
    "one quasi-id": "準識別子1つ",
    "all quasi-ids": "全準識別子",
    "… numbers by side": "… 中央値の側",
    "one column": "任意の1列",
    "three columns": "任意の3列",
    "… by side": "… 中央値の側",
    "two halves": "2つの半分",
    "nearest record": "最近傍レコード",
    "inference": "推論",
    "share that was right": "正解率",
}

_LINKAGE = {
    "Attacks of somebody who knows everybody's quasi-identifiers, on a release without groups.": (
        "全員の準識別子を知る者による、グループのない提供データへの攻撃。"
    ),
    "part of the records whose owner is the middle one of the people who fit": "当てはまる人の中央の人が本人であるレコードの割合",
    "part of the records whose owner is whom the same method, run again on the originals, puts in the same place": (
        "同じ方法を元データで再実行したとき同じ位置に来る人が本人であるレコードの割合"
    ),
    "people that the most exposed record can still be, by all ways to match people and records": (
        "最も露出したレコードがなお対応し得る人数(人とレコードのあらゆる対応付けによる)"
    ),
    "part of the other records that have one possible owner left after some people's records were disclosed": (
        "一部の人のレコードが開示された後、候補が1人に絞られる他のレコードの割合"
    ),
    "a blind guess is right in {share}": "当て推量の正解率は {share}",
    "least candidates": "最少候補数",
    "medoid attack": "メドイド攻撃",
    "rerun attack": "再実行攻撃",
    "cascade attack": "連鎖攻撃",
    "{n} disclosed": "開示 {n} 件",
    "whether guesses are right can be measured only with the true correspondence: give --truth": (
        "推測の正否は真の対応表(--truth)がある場合にのみ測れます"
    ),
}

_ALONE = {
    "Who stands alone": "一意な人",
    "people": "人",
    "estimate": "推定値",
    "The table is taken as {fraction} of a population of {population} people (say otherwise with a sampling fraction). "
    "Who is unique in the table need not be unique among all people.": (
        "この表は {population} 人の母集団の {fraction} とみなしています(抽出率で変更できます)。"
        "表で一意な人が母集団でも一意とは限りません。"
    ),
    "The table is taken as the whole population: who is unique in it is unique. Unique rows in the release: {n}. If it is "
    "a sample of a population, evaluate it with its sampling fraction: uniqueness is then estimated.": (
        "この表を母集団全体とみなしています。表で一意な人は一意です。提供データで一意な行:{n}。"
        "母集団からの標本である場合は、抽出率を指定して評価すると、母集団での一意性を推定します。"
    ),
    "Estimated from {n} records drawn at random, each held against all others; right to {e} of the records.": (
        "無作為に選んだ {n} 件を他の全件と照合して推定(誤差は全レコードの {e} 以内)。"
    ),
    "unique in the release": "提供データで一意",
    "unique in the population (Zayatz)": "母集団で一意(Zayatz)",
    "unique in the population (Pitman)": "母集団で一意(Pitman)",
    "taken, by Dankar's rule": "採用値(Dankar の規則)",
    "a unique match is right": "一意な一致が正しい確率",
    "from the sizes of the classes by Bayes' rule (Zayatz 1991)": (
        "グループの大きさからベイズの定理で推定(Zayatz 1991)"
    ),
    "from the Ewens–Pitman law fitted to the sizes of the classes (Hoshino 2001)": (
        "グループの大きさに当てはめた Ewens–Pitman 分布で推定(Hoshino 2001)"
    ),
    "Pitman for samples of at most a tenth, Zayatz above (Dankar et al. 2012)": (
        "抽出率 10 % 以下は Pitman、それ以上は Zayatz(Dankar et al. 2012)"
    ),
    "the probability that a unique match with somebody of the population is right (Skinner & Elliot 2002)": (
        "母集団の誰かとの一意な一致が正しい確率(Skinner & Elliot 2002)"
    ),
    "counted": "実数",
    "pitman": "Pitman",
    "zayatz": "Zayatz",
    "records made unique by": "レコードを一意にする属性",
    "one attribute alone": "属性1つ",
    "two attributes together": "属性2つの組",
    "Special uniques: records that one or two quasi-identifiers already make unique; below, the sets that do so most.": (
        "特殊な一意:準識別子1つ又は2つだけで一意になるレコード。下段は最も多くのレコードを一意にする組。"
    ),
}

_CHECKLISTS = {
    "point": "項目",
    "state": "状態",
    "evidence": "根拠",
    "✓ evidence": "✓ 根拠あり",
    "! look here": "! 要確認",
    "to be stated": "要記載",
    "does not apply": "対象外",
    "A text to edit, in Japanese and in English:": "編集用の公表文案(日本語・英語):",
}

JAPANESE: dict[str, str] = {
    **_PAGE, **VERDICT, **_RISK, **_ATTACKS, **_LINKAGE, **_ALONE, **_CHECKLISTS, **TABLES,
}  # fmt: skip
