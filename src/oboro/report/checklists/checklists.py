"""Checklists of laws, opinions and standards: filled in where the software can know, "to be stated" where it cannot.

Every text stands here in both languages, side by side, so that neither is forgotten. It is not legal advice, and says so.
"""

from __future__ import annotations

from collections.abc import Collection

from oboro.measure.identifier_forms import RESTRICTED_ZIPS
from oboro.report.checklists.appi import appi
from oboro.report.checklists.material import ISO_NAMES, TO_STATE, Both, Material, item, listed
from oboro.report.facts import CheckItem, Checklist
from oboro.verifier.verdict import K_ANONYMITY, L_DIVERSITY, T_CLOSENESS

__all__ = ["ISO_NAMES", "Material", "checklists"]


def checklists(material: Material) -> list[Checklist]:
    """All of them."""
    return [appi(material), _hipaa(material), _wp216(material), _iso(material)]


# United States --------------------------------------------------------------------------------------------------------

HIPAA: Both = (
    "HIPAA Safe Harbor: 18 identifiers, 45 CFR 164.514(b)(2)",
    "HIPAA セーフハーバー:18種の識別子(45 CFR 164.514(b)(2))",
)
HIPAA_LEAD: Both = (
    "For health data of the United States. Released values were searched for the forms that such identifiers have; finding none "
    f"is no proof. Three-digit ZIP codes that must become 000 by the census of 2000: {', '.join(RESTRICTED_ZIPS)}; use newer "
    "census data where there are any. This is not legal advice.",
    "米国の医療データ向け。提供値を識別子の形式で検索しました(見つからないことは証明にはなりません)。"
    f"000とすべき3桁ZIP(2000年国勢調査):{', '.join(RESTRICTED_ZIPS)}。より新しい国勢調査があればそれによります。"
    "本欄は法的助言ではありません。",
)
# Letter, title, the findings that speak against it, and whether the form of its values is so fixed that finding none is evidence.
SAFE_HARBOR: tuple[tuple[str, Both, tuple[str, ...], bool], ...] = (
    ("A", ("Names", "氏名"), ("name",), False),
    (
        "B",
        (
            "Geography smaller than a state; of ZIP codes the first three digits only, and 000 where 20,000 people or fewer live",
            "州より小さい地理区分(ZIPは先頭3桁のみ、人口2万人以下の地域は000)",
        ),
        ("zip", "small_zip", "place"),
        False,
    ),
    (
        "C",
        (
            "All elements of dates but the year; ages over 89, and years that tell them, only as 90 or older",
            "年を除く日付の要素、89歳を超える年齢とそれを示す年(90歳以上に統合)",
        ),
        ("date", "over_89"),
        False,
    ),
    ("D", ("Telephone numbers", "電話番号"), ("phone",), False),
    ("E", ("Fax numbers", "FAX番号"), ("phone",), False),
    ("F", ("E-mail addresses", "電子メールアドレス"), ("email",), True),
    ("G", ("Social security numbers", "社会保障番号"), ("ssn",), False),
    ("H", ("Medical record numbers", "診療録番号"), ("medical",), False),
    ("I", ("Health plan beneficiary numbers", "医療保険の受給者番号"), ("plan",), False),
    ("J", ("Account numbers", "口座番号"), ("card", "account"), False),
    ("K", ("Certificate and license numbers", "証明書・免許番号"), ("licence", "passport"), False),
    (
        "L",
        ("Vehicle identifiers and serial numbers, license plates", "車両の識別番号・製造番号・ナンバープレート"),
        ("vehicle", "plate"),
        False,
    ),
    ("M", ("Device identifiers and serial numbers", "機器の識別番号・製造番号"), ("device",), False),
    ("N", ("Web addresses (URLs)", "URL"), ("url",), True),
    ("O", ("Internet protocol (IP) addresses", "IPアドレス"), ("ip",), True),
    ("P", ("Biometric identifiers, finger and voice prints", "生体識別子(指紋・声紋を含む)"), ("biometric",), False),
    ("Q", ("Full-face photographs and comparable images", "顔全体の写真及びこれに類する画像"), ("photo",), False),
    (
        "R",
        ("Any other unique identifying number, characteristic or code", "その他の固有の識別番号・特徴・符号"),
        ("code", "my_number", "pension", "residence_card"),
        False,
    ),
)
KNOWLEDGE: Both = (
    "(ii): the covered entity does not know that what is left could identify an individual, alone or with other information",
    "(ii):残る情報が単独で又は他の情報と組み合わせて個人を識別し得ることを、対象事業者が実際に認識していないこと",
)


def _hipaa(known: Material) -> Checklist:
    items = [_harbor(known, *entry) for entry in SAFE_HARBOR]
    items.append(item("ii", KNOWLEDGE, "stated", TO_STATE))
    return Checklist(
        key="hipaa", title=HIPAA[0], title_ja=HIPAA[1], lead=HIPAA_LEAD[0], lead_ja=HIPAA_LEAD[1], items=items
    )


def _harbor(known: Material, key: str, title: Both, kinds: tuple[str, ...], fixed: bool) -> CheckItem:
    found = known.columns_with(*kinds)
    if found:
        told = (
            f"Released values, or the names of columns, look like it: {listed(found)}.",
            f"提供値又は列名がこれに見える列:{listed(found)}。",
        )
        return item(key, title, "open", told)
    if key == "R" and known.pseudonyms:
        names = listed(list(known.pseudonyms))
        told = (
            f"Pseudonyms are released: {names}. 164.514(c) allows a code only if it is not derived from information about the "
            "individual, and how to undo it is not disclosed. Whether that holds is to be stated.",
            f"仮IDを含みます:{names}。164.514(c)は、個人に関する情報から導出されず、復元方法を開示しない符号のみを認めています。"
            "該当するかは事業者が記載してください。",
        )
        return item(key, title, "stated", told)
    none = "No released value has this form.", "この形式の提供値は見つかりませんでした。"
    if fixed:
        return item(key, title, "stated" if known.unseen else "evidence", known.but(none))
    told = (
        f"{none[0]} Whether the release holds any is to be stated.",
        f"{none[1]}該当する情報を含まないことは事業者が記載してください。",
    )
    return item(key, title, "stated", known.but(told))


# Europe ---------------------------------------------------------------------------------------------------------------

WP216: Both = ("WP216: the three questions of the Article 29 Working Party", "WP216:第29条作業部会の3つの問い")
WP216_LEAD: Both = (
    "Opinion 05/2014 on anonymisation techniques asks whether a person can be singled out, whether records can be linked, "
    "and whether something can be inferred. The answers are those of the attacks that were run. This is not legal advice.",
    "匿名化技術に関する意見05/2014は、個人の選び出し・レコードの連結・推論が可能かを問います。回答は実行した攻撃の結果です。"
    "本欄は法的助言ではありません。",
)
QUESTIONS: tuple[tuple[str, Both], ...] = (
    ("singling out", ("Is it still possible to single out an individual?", "個人を選び出すことがまだ可能か")),
    (
        "linkability",
        (
            "Is it still possible to link records relating to an individual?",
            "個人に関するレコードを連結することがまだ可能か",
        ),
    ),
    ("inference", ("Can information be inferred concerning an individual?", "個人に関する情報を推論できるか")),
)


# The opinion's table of strengths and weaknesses: is singling out, linkability, inference still a risk?
JUDGED: tuple[tuple[str, tuple[str, ...], Both, Both], ...] = (
    ("pseudonymisation", ("pseudonymize",), ("Pseudonymisation", "仮名化"), ("yes, yes, yes", "はい、はい、はい")),
    (
        "noise",
        ("noise",),
        ("Noise addition", "ノイズ付加"),
        ("yes, may not, may not", "はい、そうでない場合がある、そうでない場合がある"),
    ),
    (
        "k-anonymity",
        ("k_anonymize", "local_recode", "microaggregate"),
        ("Aggregation or K-anonymity", "集約又はk-匿名性"),
        ("no, yes, yes", "いいえ、はい、はい"),
    ),
    (
        "l-diversity",
        (),
        ("L-diversity", "l-多様性"),
        ("no, yes, may not", "いいえ、はい、そうでない場合がある"),
    ),
)


def _wp216(known: Material) -> Checklist:
    items = [_question(known, key, title) for key, title in QUESTIONS]
    items += [_judged(*entry) for entry in JUDGED if known.named(*entry[1]) or (not entry[1] and _diverse(known))]
    return Checklist(
        key="wp216", title=WP216[0], title_ja=WP216[1], lead=WP216_LEAD[0], lead_ja=WP216_LEAD[1], items=items
    )


def _diverse(known: Material) -> bool:
    return bool(known.holds) and any(one.id in L_DIVERSITY for one in known.models)


def _judged(key: str, steps: tuple[str, ...], title: Both, said: Both) -> CheckItem:
    """What the opinion itself says of a technique that was used."""
    told = (
        f"Is singling out, linkability, inference still a risk? The opinion's table says: {said[0]}. What was done about it is to "
        "be stated; the attacks above say what is left.",
        f"選び出し・連結・推論のリスクは残るか。意見書の表の答え:{said[1]}。講じた対応は事業者が記載してください。残るリスクは上の攻撃結果を参照。",
    )
    return item(key, title, "stated", told)


STRANGE = "attack.note.strange"
UNTRIED: Both = (
    "No attack of this kind could be judged: too few columns or guesses, no secret was named, or labels are not understood.",
    "この種の攻撃では判断できませんでした(列・試行が少ない、秘密の列の指定がない、又はラベルの意味が不明)。",
)


def _question(known: Material, key: str, title: Both) -> CheckItem:
    mine = [one for one in known.attacks if one.question == key and one.found.tried and one.risk is not None]
    better = any(one.better and not one.allowed for one in mine)
    if not mine or (not better and any(note.id == STRANGE for one in mine for note in one.notes)):
        return item(key, title, "stated", UNTRIED)
    risk = max((one.risk for one in mine if one.risk is not None), key=lambda risk: risk.value)
    said = f"{100 * risk.value:.1f} % ({100 * risk.low:.1f}–{100 * risk.high:.1f} %)"
    told = (
        f"Attacks of this kind: {len(mine)}; the strongest adds {said} to its control. "
        + ("At least one does better than its control." if better else "None does better than its control."),
        f"この種の攻撃:{len(mine)}種。最も強い攻撃が対照群に上乗せする割合:{said}。"
        + ("対照群を上回る攻撃があります。" if better else "対照群を上回る攻撃はありません。"),
    )
    return item(key, title, "open" if better else "evidence", told)


# ISO ------------------------------------------------------------------------------------------------------------------

ISO: Both = ("ISO/IEC 20889:2018: names of the techniques used", "ISO/IEC 20889:2018:使用した技術の名称")
ISO_LEAD: Both = ("The steps that were taken, by the names of the standard.", "実施した処理を規格の名称で示します。")
ISO_MODELS: tuple[tuple[Collection[str], Both], ...] = (
    (K_ANONYMITY, ("K-anonymity", "K-匿名性")),
    (L_DIVERSITY, ("L-diversity", "L-多様性")),
    (T_CLOSENESS, ("T-closeness", "T-近接性")),
)


def _iso(known: Material) -> Checklist:
    names = list(dict.fromkeys(step["name"] for step in known.steps))
    items = [
        item(name, (name, name), "evidence", ISO_NAMES.get(name, ("Not named by the standard", "規格に名称なし")))
        for name in names
    ]
    if not items:
        title = "How the release was made is not known here", "加工方法は本ソフトウェアには不明"
        items = [item("unknown", title, "stated", TO_STATE)]
    models = [named for ids, named in ISO_MODELS if any(one.id in ids for one in known.models)]
    if models and known.holds:
        title = "Formal privacy measurement models", "形式的プライバシー測定モデル"
        english, japanese = (listed([one[side] for one in models]) for side in (0, 1))
        items.append(item("models", title, "evidence", (english, japanese)))
    return Checklist(key="iso", title=ISO[0], title_ja=ISO[1], lead=ISO_LEAD[0], lead_ja=ISO_LEAD[1], items=items)
