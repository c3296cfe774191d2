"""The Japanese of what a report says about tables, columns and steps; see `japanese.py`."""

from __future__ import annotations

__all__ = ["TABLES"]

_LOSS = {
    "What the release lost": "加工による損失",
    "measure": "指標",
    "value": "値",
    "column": "列",
    "Column by column; 0 means that nothing was lost.": "列ごとの値。0 は損失なし。",
    "Column by column; 0: as in the original, where a generalized label is spread evenly over the values under it.": (
        "列ごとの値。0 は元データと同じ(一般化ラベルは下位の値に均等に配分)。"
    ),
    "{a} to {b}, {better} is better": "範囲 {a} ~ {b}、{better}ほど良い",
    "{a} to {b}": "範囲 {a} ~ {b}",
    "lower": "小さい",
    "higher": "大きい",
    "records released": "提供レコード比",
    "suppressed records": "抑制レコード",
    "suppressed cells": "抑制セル",
    "generalization intensity": "一般化の強さ",
    "ncp": "NCP",
    "discernibility": "識別不能性指標",
    "average class size": "平均グループサイズ",
    "non uniform entropy": "非一様エントロピー",
    "sse": "SSE",
    "mean squared error": "平均二乗誤差",
    "association difference": "関連の差",
    "correlation difference": "相関の差",
    "kl histogram": "KL(ヒストグラム)",
    "kl density ratio": "KL(密度比)",
    "jensen shannon": "イェンセン–シャノン",
    "propensity mse": "傾向スコア MSE",
    "learned from released": "提供データから学習",
    "learned from original": "元データから学習",
    "mean over all columns: {what}": "全列の平均:{what}",
    "What its statistics still say": "統計としての有用性",
    "How far frequencies, numbers and relations of the release lie from those of the original. What is counted is counted "
    "on all records; what is estimated says from how many, and its error at 95 %.": (
        "提供データの度数・数値・関連が元データからどれだけ離れているか。数えられるものは全レコードで数え、"
        "推定するものは使ったレコード数と 95 % の誤差を示します。"
    ),
    "Models that predict {column}: trained on the release and on the original, both tested on the original.": (
        "{column} を予測するモデル:提供データと元データのそれぞれで学習し、いずれも元データで評価。"
    ),
    "Kullback–Leibler divergence of the original from the released over at most {n} bins, in nats": (
        "元データの提供データに対する KL ダイバージェンス(最大 {n} 区間のヒストグラム、nat)"
    ),
    "Kullback–Leibler divergence of the original from the released, by density ratio (uLSIF), in nats": (
        "元データの提供データに対する KL ダイバージェンス(密度比推定 uLSIF、nat)"
    ),
    "divergence of both from their mean, in bits: 0 the same, 1 nothing in common": (
        "両者の平均分布からのダイバージェンス(ビット):0 は同一、1 は共通部分なし"
    ),
    "how well a model tells released from original records: 0 not at all, 0.25 always (pMSE)": (
        "モデルが提供レコードと元レコードを見分ける度合い:0 は見分けられない、0.25 は常に見分ける(pMSE)"
    ),
    "difference of the correlation of the two columns before and after": "2列の相関係数の加工前後の差",
    "accuracy on original records that were held out, of a model trained on the released table": (
        "提供データで学習したモデルの、取り分けた元レコードでの正解率"
    ),
    "accuracy on original records that were held out, of a model trained on the original table": (
        "元データで学習したモデルの、取り分けた元レコードでの正解率"
    ),
    "R² on original records that were held out, of a model trained on the released table": (
        "提供データで学習したモデルの、取り分けた元レコードでの R²"
    ),
    "R² on original records that were held out, of a model trained on the original table": (
        "元データで学習したモデルの、取り分けた元レコードでの R²"
    ),
    "half a record is added to every bin, so that none is empty": "空の区間ができないよう各区間に 0.5 件を加算",
    "one of the tables has no values": "一方の表に値がありません",
    "needs numbers or dates on both sides, two records or more": "両方の表に数値又は日付が2件以上必要",
    "over {names} together": "{names} をまとめて",
    "an estimate, may fall a little below 0": "推定値のため 0 をわずかに下回ることがある",
    "the ratio is positive at {n} of the records": "密度比が正のレコードは {n}",
    "of {a} original and {b} released records drawn at random": "無作為に選んだ元 {a} 件・提供 {b} 件による",
    "records are not paired: held-out ones may have been seen in the release": (
        "レコードの対応が不明なため、取り分けたものが提供データに含まれている可能性がある"
    ),
    "fewer than 10 records": "レコードが 10 件未満",
    "one of the columns is constant": "一方の列が定数",
    "total variation": "全変動距離",
    "kolmogorov smirnov": "コルモゴロフ–スミルノフ",
    "wasserstein": "ワッサースタイン",
    "greatest gap between the cumulated shares": "累積割合の差の最大値",
    "mean way that values moved, over their range": "値の移動距離の平均(値域に対する比)",
    "part of the rows that would have to change to get the original frequencies back": (
        "元の度数に戻すために変える必要のある行の割合"
    ),
    "released records per original record": "元レコード1件当たりの提供レコード数",
    "part of the records with * in every quasi-identifier": "すべての準識別子が * のレコードの割合",
    "part of the cells of quasi-identifiers that are *": "準識別子のセルのうち * の割合",
    "part of the cells that are *": "* のセルの割合",
    "how far values climbed: mean level over the height of the hierarchy (without one: the value 0, * 1)": (
        "値がどこまで一般化されたか:平均レベル÷階層の高さ(階層がなければ値は 0、* は 1)"
    ),
    "normalized certainty penalty: mean part of the column's domain that a released value may stand for": (
        "正規化確実性ペナルティ:提供値が表し得る範囲が列の値域に占める割合の平均"
    ),
    "bits needed to get the original values back, over the bits needed if everything were suppressed": (
        "元の値の復元に必要なビット数÷すべて抑制した場合のビット数"
    ),
    "sum of the squared differences of standardized numbers": "標準化した数値の差の二乗和",
    "mean of the squared differences of standardized numbers: SSE / SST, if every record is released": (
        "標準化した数値の差の二乗平均(全レコード提供時は SSE / SST)"
    ),
    "sum over records of how many look alike; a suppressed or dropped record counts as looking like all": (
        "各レコードと同じに見えるレコード数の総和(抑制・削除されたレコードは全件と同じとみなす)"
    ),
    "mean size of the unsuppressed classes over k = {k}": "抑制されていないグループの平均サイズ÷k(k = {k})",
    "mean difference, over pairs of columns, of how strongly they go together (Cramér's V) before and after": (
        "列の対の関連の強さ(クラメールの V)の加工前後の差の平均"
    ),
    "mean difference of the correlation before and after, over pairs of columns with numbers": (
        "数値列の対の相関係数の加工前後の差の平均"
    ),
    "rows are taken to be in the order of the original table": "行は元の表の順とみなした",
    "it is not known which released record was made from which original one": "提供レコードと元レコードの対応が不明",
    "a number that is now missing or * counts as the mean": "欠損又は * になった数値は平均値とみなす",
    "missing originals are left out": "元の値が欠損のものは除く",
    "missing and suppressed values are left out": "欠損値と抑制値は除く",
    "generalized labels are spread evenly over the original values under them": "一般化ラベルは下位の値に均等に配分",
    "labels without a hierarchy are compared as categories": "階層のないラベルはカテゴリとして比較",
    "without {names}": "{names} を除く",
    "{a} of {b} pairs left out: a column is constant": "{b} 対のうち {a} 対を除外:定数の列",
    "fewer than two columns of numbers": "数値列が2つ未満",
    "one of the tables has no records": "一方の表にレコードがありません",
    "of a random {n} rows": "無作為の {n} 行による",
    "the table has no records, or a released value is neither an original one nor a label of the hierarchy": (
        "レコードがないか、提供値が元の値でも階層のラベルでもありません"
    ),
}

_PAIRS = {
    "Columns together": "列どうしの関係",
    "Cramér's V of every pair of columns: 0 independent, 1 one follows from the other. Suppressed cells are left out. "
    "Nearer to before is better.": (
        "列の対ごとのクラメールの V:0 は独立、1 は一方から他方が決まる。抑制されたセルは除きます。加工前に近いほど良い値です。"
    ),
    "The pairs that changed most.": "最も変わった対。",
    "No pair changed by 0.001 or more.": "0.001 以上変わった対はありません。",
    "Measured on a random {n} rows of each table; right to ± {e}.": ("各表の無作為の {n} 行で測定(誤差は ± {e})。"),
    "pair": "対",
    "difference": "差",
}

_COLUMNS = {
    "Columns before and after": "列の加工前と加工後",
    "The released columns": "提供する列",
    "Shares of rows, before and after, under the labels that are released; * is what was suppressed. "
    "No label is shown that fewer than {n} rows hold.": (
        "提供されるラベルごとの行の割合(加工前・加工後)。* は抑制値。{n} 行未満のラベルは表示しません。"
    ),
    "Shares of rows under the labels that are released; * is what was suppressed. "
    "No label is shown that fewer than {n} rows hold.": (
        "提供されるラベルごとの行の割合。* は抑制値。{n} 行未満のラベルは表示しません。"
    ),
    "The first {a} of {b} are drawn.": "{b} 列のうち最初の {a} 列を図示。",
    "The original has no such values, so only the release is drawn.": (
        "元データに該当する値がないため、提供データのみ図示。"
    ),
    "Not drawn:": "図示しないもの:",
    "missing {a} before, {b} after.": "欠損 加工前 {a}、加工後 {b}。",
    "suppressed {a} before, {b} after.": "抑制 加工前 {a}、加工後 {b}。",
    "rare {a} before, {b} after.": "稀な値 加工前 {a}、加工後 {b}。",
    "missing {b} after.": "欠損 加工後 {b}。",
    "suppressed {b} after.": "抑制 加工後 {b}。",
    "rare {b} after.": "稀な値 加工後 {b}。",
    "Bins with fewer than {n} rows are not drawn.": "{n} 行未満の区間は図示しません。",
    "Rare labels, and all held by fewer than {n} rows, are counted together.": (
        "稀なラベルと {n} 行未満のラベルはまとめて数えました。"
    ),
    "role": "役割",
    "different values": "異なる値の数",
    "missing": "欠損",
    "suppressed": "抑制",
    "memory": "メモリ",
    "quasi": "準識別子",
    "sensitive": "要配慮",
    "other": "その他",
    "dropped": "削除",
    "text": "文字列",
    "integer": "整数",
    "number": "数値",
    "date": "日付",
    "datetime": "日時",
    "boolean": "真偽値",
    "share of rows": "行の割合",
    "rows in a class": "グループの行数",
    "(missing)": "(欠損)",
    "(other)": "(その他)",
}

_MADE = {
    "Why this solution": "なぜこの解か",
    "The chosen combination and its runners-up": "選ばれた組合せと次点",
    "Filled: the chosen one; open: the next best. To the right more was generalized, upwards more was lost.": (
        "塗りつぶし:選ばれたもの、白抜き:次点。右ほど一般化が強く、上ほど損失が大きい。"
    ),
    "Each column can be released on several levels; 0 is the value itself. There are {n} combinations of levels. "
    "Of those that keep every promise within the allowed suppression the one with the least loss was chosen; "
    "the next best that were tried stand beside it.": (
        "各列は複数のレベルで提供できます(0 は値そのもの)。レベルの組合せは {n} 通りです。許容された抑制の範囲ですべての約束を守る"
        "組合せのうち、損失が最小のものを選びました。試した次点を並べて示します。"
    ),
    "Tried: {n}.": "試行:{n}。",
    "Followed from those: {n}.": "そこから導かれたもの:{n}。",
    "Could not be better: {n}.": "より良くなり得ないもの:{n}。",
    "Minimal, so that in those no column could be finer: {n}.": "極小解(どの列もこれ以上細かくできない):{n}。",
    "level of": "レベル",
    "✓ chosen": "✓ 採用",
    "no. {n}": "{n} 位",
    "{a} of {b}": "{a} / {b}",
    "suppressed rows": "抑制した行",
    "loss": "損失",
    "loss ({name})": "損失({name})",
    "levels in all": "レベルの合計",
    "The stream over time": "ストリームの推移",
    "What the run itself counted. Latency is the time from the arrival of a record to its release; in a window it includes "
    "the wait for others.": (
        "実行時に計測された値です。遅延はレコードの到着から出力までの時間で、ウィンドウでは他のレコードを待つ時間を含みます。"
    ),
    "The metrics are of one moment only, so there is no timeline: a run of more than half a second prints several.": (
        "1時点の計測値しかないため推移は描けません(0.5 秒を超える実行では複数の時点が出力されます)。"
    ),
    "at the end": "終了時",
    "seconds": "秒",
    "records that came in": "入力レコード",
    "records that went out": "出力レコード",
    "records withheld": "出力を見合わせたレコード",
    "records still held": "保持中のレコード",
    "fully suppressed records": "完全に抑制したレコード",
    "suppressed cells, so far": "抑制したセル(累計)",
    "generalized cells": "一般化したセル",
    "loss of a record, on average": "レコード当たりの平均損失",
    "dead letters: lines that are no records": "レコードとして読めない行",
    "records in doubt after a crash": "障害により不確実なレコード",
    "records per second, since the start": "毎秒レコード数(開始からの平均)",
    "latency in ms, half of the records": "遅延(ミリ秒、中央値)",
    "latency in ms, 99 of 100 records": "遅延(ミリ秒、99 パーセンタイル)",
    "What was done": "実施した処理",
    "What was done, step by step": "実施した処理(順)",
    "step": "処理",
    "rows": "行",
    "columns": "列",
    "time": "時間",
    "cells changed": "変更したセル",
    "{a} of {b} rows, {c} allowed": "{b} 行中 {a} 行(許容 {c} 行)",
    "attribute": "属性",
    "method": "方法",
    "records": "レコード",
    "changed": "変更",
    "coded": "置換え",
    "bound": "境界",
    "values": "値",
    "missing records": "欠損レコード",
    "standard deviation": "標準偏差",
    "distribution": "分布",
    "recoding": "再符号化",
    "warning": "警告",
    "kept": "維持",
    "k": "k",
    "{a} in, {b} out": "入力 {a}、出力 {b}",
    "How things are counted": "数え方",
    "A missing value is a value like any other: in grouping rows, in verifying, in measuring risk and in counting "
    "sensitive values.": (
        "欠損値は、グループ化・検証・リスク測定・要配慮値の計数のいずれでも、1つの値として扱います。"
    ),
    "Suppression writes * into every quasi-identifier of a row. Suppressed rows stay in the release, form one class of "
    "their own, and are held to the same promises as all others.": (
        "抑制は行のすべての準識別子に * を書きます。"
        "抑制された行は提供データに残り、1つのグループとして他と同じ約束の対象になります。"
    ),
    "Rows that a step drops are in no figure about the release; they count only as rows that came in and did not go "
    "out.": "処理で削除された行は提供データの数値に含まれず、入力されて出力されなかった行としてのみ数えます。",
    "A * counts as the loss of the whole value. Measures of loss speak of the quasi-identifiers; distances between "
    "distributions speak of every column that both tables have.": (
        "* は値全体の損失とみなします。損失の指標は準識別子について、分布間の距離は両方の表にあるすべての列について測ります。"
    ),
    "Labels that fewer than {n} rows hold are counted together or not at all. This page holds no record of "
    "either table, but it holds the recipe: keep it with those who may know how the release was made.": (
        "{n} 行未満のラベルはまとめるか、数えません。このページはどちらの表のレコードも含みませんが、レシピを含みます。"
        "加工方法を知ってよい人だけが保管してください。"
    ),
    "input": "入力",
    "output": "出力",
    "control group": "対照群",
    "truth": "正解の対応",
    "recipe": "レシピ",
    "population {name}": "母集団 {name}",
    "hierarchy of {name}": "{name} の階層",
    "path": "ファイル名",
    "bytes": "バイト数",
    "sha256": "SHA-256",
    "dropped columns": "削除した列",
    "columns not looked at": "調べていない列",
    "quasi-identifiers": "準識別子",
    "sensitive columns": "要配慮列",
    "privacy models verified": "検証したモデル",
    "seed": "乱数シード",
    "versions": "版",
    "none; the random choices cannot be repeated": "なし(乱数は再現できません)",
    "not known": "不明",
    "{a} for the original, {b} for the release": "元データ {a}、提供データ {b}",
    "The recipe": "レシピ",
}

TABLES: dict[str, str] = {**_LOSS, **_PAIRS, **_COLUMNS, **_MADE}
