"""The Japanese of the first screen, of promises and of warnings; see `japanese.py`."""

from __future__ import annotations

__all__ = ["VERDICT"]

_GLANCE = {
    "At a glance": "概要",
    "rows released": "提供した行",
    "rows suppressed": "抑制した行",
    "columns released": "提供した列",
    "unique rows": "一意な行",
    "highest risk": "最大リスク",
    "mean risk": "平均リスク",
    "of {n}": "全 {n} 中",
    "{share} of the release": "提供データの {share}",
    "{value} before": "加工前 {value}",
    "people whom any record can be": "どのレコードも取り得る人数",
    "linked by distance": "距離による連結率",
    "{share} by chance": "偶然 {share}",
}

_BANNER = {
    "The figures below describe the release; they promise nothing.": (
        "以下の数値は提供データの記述であり、何かを約束するものではありません。"
    ),
    "This table must not be released as it is.": "この表はこのまま提供してはなりません。",
    "Verified on the released table, after the last step.": "最後の処理の後、提供データ上で検証しました。",
    "Every promise holds": "すべての約束が守られています",
    "A promise is broken": "守られていない約束があります",
    "Nothing was promised, so nothing was verified": "約束がないため、検証したものはありません",
    "No promise was verified here": "約束は検証していません",
    "Promised by construction, which no table can prove": "方法による約束(表からは証明できません)",
    "Attacks succeed against this table: {a} of {b}.": "この表への攻撃が成功しています:{b} 件中 {a} 件。",
    "But attacks that do better than their control: {a} of {b}.": "ただし、対照群を上回る攻撃があります:{b} 件中 {a} 件。",
}

_ANSWERS = {
    "Is it safe to release?": "提供しても安全か",
    "Why this solution?": "なぜこの解か",
    "What was lost?": "何が失われたか",
    "What must I still state?": "まだ何を記載すべきか",
    "Not as it is, by the attacks.": "攻撃の結果から、このままでは安全とは言えません。",
    "Look at the attacks first.": "まず攻撃の結果を確認してください。",
    "Nothing that was verified or tried speaks against it.": "検証と試行の範囲で、妨げとなるものは見つかっていません。",
    "That is yours to judge: nothing could be verified.": "検証できたものはなく、判断は読者に委ねられます。",
    "The table is too small for any attack to say something.": "表が小さく、攻撃から言えることはありません。",
    "No attack was run.": "攻撃は実行していません。",
    "{a} attacks were run; none does better than its control.": "{a} 件の攻撃を実行し、対照群を上回るものはありません。",
    "Every record can be the record of {n} people or more.": "どのレコードも {n} 人以上のものであり得ます。",
    "Who is known to be in the table is recognised with a probability of at most {p} (before: {b}).": (
        "表にいると知られている人が識別される確率は最大 {p} です(加工前 {b})。"
    ),
    "Who is known to be in the table is recognised with a probability of at most {p}.": (
        "表にいると知られている人が識別される確率は最大 {p} です。"
    ),
    "The recipe says what is done; nothing was searched for.": "処理はレシピの指定どおりで、探索は行っていません。",
    "A stream decides record by record, as they come; no solution was chosen for all of them.": (
        "ストリームはレコードごとに到着順に決定します。全体に対する1つの解は選んでいません。"
    ),
    "How the release was made is not known here.": "どのように加工されたかは、ここでは分かりません。",
    "Of {n} combinations of levels it keeps every promise at the least loss: {a}; the next best loses {b}.": (
        "{n} 通りのレベルの組合せのうち、すべての約束を守り損失が最小のものです(損失 {a}、次点 {b})。"
    ),
    "Of {n} combinations of levels it keeps every promise at the least loss: {a}.": (
        "{n} 通りのレベルの組合せのうち、すべての約束を守り損失が最小のものです(損失 {a})。"
    ),
    "Of those of {n} combinations of levels that were looked at, it keeps every promise at the least loss: {a}; the next best "
    "loses {b}.": (
        "{n} 通りのレベルの組合せのうち調べたものの中で、すべての約束を守り損失が最小のものです(損失 {a}、次点 {b})。"
    ),
    "Of those of {n} combinations of levels that were looked at, it keeps every promise at the least loss: {a}.": (
        "{n} 通りのレベルの組合せのうち調べたものの中で、すべての約束を守り損失が最小のものです(損失 {a})。"
    ),
    "Suppressed: {a} of {b} rows.": "抑制:{b} 行中 {a} 行。",
    "Rows not released: {n}.": "提供しない行:{n}。",
    "Columns not released: {n}.": "提供しない列:{n}。",
    "A value now stands for {n} of its column's range on average (NCP).": (
        "1つの値は平均して列の値域の {n} を表します(NCP)。"
    ),
    "A column differs from the original by {a} on average, a pair of columns by {b}.": (
        "列は平均 {a}、列の対の関連は平均 {b}、元データと異なります。"
    ),
    "A model of {column} scores {a} if learned from the release, {b} from the original.": (
        "{column} を予測するモデルの評価値は、提供データからの学習で {a}、元データからの学習で {b} です。"
    ),
    "Remarks to read before you sign: {n}.": "署名の前に読むべき注意:{n} 件。",
    "Nothing that this page knows of.": "このページで分かる範囲ではありません。",
}

_SUMMARY = {
    "Rows": "行",
    "{a} in, {b} out, {c} suppressed": "入力 {a}、出力 {b}、抑制 {c}",
    "{a} in, {b} out (dropped: {names})": "入力 {a}、出力 {b}(削除:{names})",
    "highest": "最大",
    "mean": "平均",
    "{a} run, none better than its control": "{a} 件実行、対照群を上回るものなし",
    "{a} run, {b} better than control": "{a} 件実行、{b} 件が対照群を上回る",
    "0 % is the original": "0 % は元データと同じ",
}

_PROMISES = {
    "What was promised": "約束した内容",
    "What was promised, and whether it holds": "約束した内容と、守られているか",
    "No step promises a privacy model, so there was nothing to verify. The risk below is measured on the release all the same.": (
        "プライバシーモデルを約束する処理がないため、検証対象はありません。以下のリスクは提供データ上で測っています。"
    ),
    "Checked on the released table alone, after the last step, by regrouping its rows over {over}. "
    "How the release was made played no part in it.": (
        "最後の処理の後、提供データだけを {over} でグループ化し直して確認しました。加工の方法は考慮していません。"
    ),
    "records that any one matches": "どのレコードも一致するレコード数",
    "records of the stream, its own among them, that the most exposed record matches": (
        "最も露出したレコードが一致するストリーム中のレコード数(自身を含む)"
    ),
    "Every record matches {n} records of the stream or more, its own among them.": (
        "どのレコードもストリーム中の {n} 件以上のレコード(自身を含む)と一致します。"
    ),
    "Checked on the released table, after the last step, each promise over the columns that stand below it. "
    "How the release was made played no part in it.": (
        "最後の処理の後、提供データ上で、それぞれの約束をその下に示す列について確認しました。加工の方法は考慮していません。"
    ),
    "Checked after the last step, by matching released records and people over {over} in all possible ways. "
    "How the release was made played no part in it.": (
        "最後の処理の後、{over} について提供レコードと人のあらゆる対応付けを調べて確認しました。加工の方法は考慮していません。"
    ),
    "This report only measures; no promise was verified on the release here. The command oboro verify does that.": (
        "この報告書は測定のみを行い、約束は検証していません。検証は oboro verify コマンドで行えます。"
    ),
    "What is promised lies in the way in which values were drawn. Another table could have come out of it, so the released "
    "one can neither prove nor break it; the attacks below say what somebody can do with it.": (
        "約束の根拠は値を確率的に生成した方法にあります。別の表が生成され得たため、提供データから約束を証明することも否定することも"
        "できません。実際に何ができるかは以下の攻撃が示します。"
    ),
    "promise": "約束",
    "k = {k}": "k = {k}",
    "nobody links a record to a person with more than 1/k certainty (Pk-anonymity)": (
        "誰もレコードと人を 1/k を超える確度で結び付けられない(Pk-匿名性)"
    ),
    "every drawn value comes from an interval that k records or more lie in": (
        "生成された値はすべて k 件以上のレコードを含む区間から生じる"
    ),
    "Checked on the whole stream, by counting for every released record the earlier records that it matches over {over}. "
    "How it was decided played no part in it.": (
        "ストリーム全体について、各提供レコードが {over} で一致する先行レコードを数えて確認しました。決定の方法は考慮していません。"
    ),
    "verdict": "判定",
    "model": "モデル",
    "required": "要求",
    "achieved": "達成",
    "groups": "グループ",
    "groups that break it": "違反グループ",
    "✓ holds": "✓ 成立",
    "✗ broken": "✗ 不成立",
    "{a} ({b} rows)": "{a}({b} 行)",
    "{k}-anonymity": "{k}-匿名性",
    "stream {k}-anonymity": "ストリーム {k}-匿名性",
    "stream distinct {l}-diversity of {name}": "{name} のストリーム {l}-多様性(異なる値の数)",
    "{k}-anonymity within {n} records": "{n} レコード以内の {k}-匿名性",
    "distinct {l}-diversity of {name} within {n} records": "{n} レコード以内の {name} の {l}-多様性(異なる値の数)",
    "nothing was released": "提供されたレコードがありません",
    "the stream has no records": "ストリームにレコードがありません",
    "{k}-map": "{k}-map",
    "distinct {l}-diversity of {name}": "{name} の {l}-多様性(異なる値の数)",
    "entropy {l}-diversity of {name}": "{name} の {l}-多様性(エントロピー)",
    "recursive ({c}, {l})-diversity of {name}": "{name} の再帰的 ({c}, {l})-多様性",
    "{t}-closeness of {name} ({distance} distance)": "{name} の {t}-近接性({distance} 距離)",
    "(α, k)-anonymity with α = {alpha} for {name}": "{name} の (α, k)-匿名性(α = {alpha})",
    "{k}-concealment": "{k}-秘匿性",
    "maximum risk of {r}": "最大リスク {r} 以下",
    "average risk of {r}": "平均リスク {r} 以下",
    "equal": "等価",
    "ordered": "順序",
    "hierarchical": "階層",
    "every released record can be {n} people's or more, and everybody can be behind as many": (
        "どの提供レコードも {n} 人以上のものであり得て、誰もが同数以上のレコードの本人であり得ます"
    ),
    "{a} of {b} released records and people have fewer than {c} candidates, the worst {d}": (
        "提供レコードと人の {b} 件中 {a} 件で候補が {c} 未満(最少 {d})"
    ),
    "the released records cannot all be the originals'; a value was changed or is not understood": (
        "提供レコードのすべてが元レコードに対応することはあり得ません(値が変更されたか、解釈できません)"
    ),
    "δ-presence from {low} to {high}": "δ-存在性({low} ~ {high})",
    "{model} holds: {note}.": "{model} は成立:{note}。",
    "{model} is broken: {note}.": "{model} は不成立:{note}。",
    "{model} holds in all {groups} ({limits}).": "{model} は全 {groups} で成立({limits})。",
    "{model} is broken in {a} of {groups} ({records}; required {r}, achieved {v}; sizes of the worst groups: {sizes}).": (
        "{model} は {groups} のうち {a} で不成立({records}、要求 {r}、達成 {v}、最悪グループの大きさ:{sizes})。"
    ),
    "{n} groups": "{n} グループ",
    "{n} group": "{n} グループ",
    "{n} records": "{n} レコード",
    "{n} record": "{n} レコード",
    "required {r}, achieved {v}": "要求 {r}、達成 {v}",
    "required {r}, achieved none": "要求 {r}、達成なし",
    "the table has no records": "表にレコードがありません",
}

_WARNINGS = {
    "Before you sign": "署名の前に",
    "It is taken for granted that the n-th released record was made from the n-th original one.": (
        "提供データの n 番目のレコードは元データの n 番目のレコードから作られたものとみなしました。"
    ),
    "It is not known which released record was made from which original one: what needs it was not measured.": (
        "提供レコードと元レコードの対応が不明なため、対応を要する指標は測っていません。"
    ),
    "Released as they stand and not looked at, so that no figure speaks of them: {columns}.": (
        "そのまま提供され、調べていない列があります(どの数値にも含まれません):{columns}。"
    ),
    "Released values of {column} look like identifiers ({kind}): {count} records.": (
        "{column} の提供値に識別子({kind})に見えるものがあります:{count} 件。"
    ),
    "The attack “{what}” does better than its control: right in {a} of its guesses, the control in {b}.": (
        "攻撃「{what}」が対照群を上回っています(正解率 {a}、対照群 {b})。"
    ),
    "Step {step}: {said}.": "処理 {step}:{said}。",
    "{why}, so the best choice so far is taken: its loss is {a}; no choice loses less than {b}": (
        "{why}ため、それまでで最良のものを採用しました:損失 {a}(どの選択でも損失は {b} 以上)"
    ),
    "{why}, so the best choice so far is taken: its loss is {a}": (
        "{why}ため、それまでで最良のものを採用しました:損失 {a}"
    ),
    "the time limit was reached": "制限時間に達した",
    "the search was interrupted": "探索が中断された",
    "there are too many choices of levels ({n}) to settle them all": "レベルの組合せ({n} 通り)が多く、すべては調べられない",
    "the true person is the centre of its own record: someone who knows everybody's quasi-identifiers and guesses the "
    "middle one of those who fit is right two times as often as 1/k or more (68, 54 and 37 percent at k = 3, 5 and 7 on "
    "1,000 Adult records), and someone who runs the method again in 88 percent or more; use truth: drawn": (
        "本人が自分のレコードの中心になっています。全員の準識別子を知り、当てはまる人の中央を推測する者は 1/k の2倍以上の割合で"
        "正解し(Adult 1,000 件で k = 3、5、7 のとき 68、54、37 %)、同じ方法を再実行する者は 88 % 以上で正解します。"
        "truth: drawn を指定してください"
    ),
    "Columns are taken to be the same though their names differ: {pairs}.": (
        "名前が異なる列を同じ列とみなしました:{pairs}。"
    ),
    "Numbers with a decimal comma were read as numbers: {columns}.": (
        "小数点がコンマの値を数値として読みました:{columns}。"
    ),
    "Released values that are missing (empty, NA) where the original has none count as suppressed: {columns}.": (
        "元データにない欠損(空、NA)は抑制とみなしました:{columns}。"
    ),
    "Taken as not released: {columns}. The release has {added}, which the original lacks; --rename says which is which.": (
        "提供されていないとみなした列:{columns}。提供データには元データにない列 {added} があります(対応は --rename で指定)。"
    ),
    "Nothing says what labels stand for, so that attacks look weaker than they are: {columns}. A recipe's hierarchies do.": (
        "ラベルの意味が分からないため、攻撃が実際より弱く見えます:{columns}。レシピの階層で指定できます。"
    ),
    "What released labels stand for was read from the labels and the records behind them: {columns}.": (
        "提供ラベルの意味は、ラベルとその元のレコードから読み取りました:{columns}。"
    ),
    "The roles of the columns were guessed from their names and values: {roles}.": (
        "列の役割は列名と値から推定しました:{roles}。"
    ),
    "e-mail addresses": "電子メール",
    "telephone numbers": "電話番号",
    "social security numbers": "社会保障番号",
    "web addresses": "URL",
    "IP addresses": "IPアドレス",
    "card numbers": "カード番号",
    "account numbers": "口座番号",
    "individual numbers (My Number)": "個人番号(マイナンバー)",
    "driving licence numbers": "運転免許証番号",
    "passport numbers": "旅券番号",
    "residence card numbers": "在留カード番号",
    "pension numbers": "基礎年金番号",
    "vehicle numbers": "車台番号",
    "license plates": "ナンバープレート",
    "device addresses": "機器のアドレス",
    "names of image files": "画像ファイル名",
    "codes of the original, one for each record": "元データと共通のレコード固有の符号",
    "ages over 89": "89歳超",
}

VERDICT: dict[str, str] = {**_GLANCE, **_BANNER, **_ANSWERS, **_SUMMARY, **_PROMISES, **_WARNINGS}
