"""Checklists of laws, opinions and standards: filled in where the software can know, "to be stated" where it cannot.

Every text stands here in both languages, side by side, so that neither is forgotten. It is not legal advice, and says so.
"""

from __future__ import annotations

from oboro.evaluate.report.appi import appi
from oboro.evaluate.report.facts import CheckItem, Checklist
from oboro.evaluate.report.material import ISO_NAMES, TO_STATE, Both, Material, item, listed

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
    "For health data of the United States. Released values were searched for the forms that such identifiers have; "
    "finding none is no proof. Restricted three-digit ZIP codes (census of 2000): 036, 059, 063, 102, 203, 556, 692, 790, "
    "821, 823, 830, 831, 878, 879, 884, 890, 893. This is not legal advice.",
    "米国の医療データ向け。提供値を識別子の形式で検索しました(見つからないことは証明にはなりません)。"
    "制限対象の3桁ZIP(2000年国勢調査):036, 059, 063, 102, 203, 556, 692, 790, 821, 823, 830, 831, 878, 879, 884, 890, 893。"
    "本欄は法的助言ではありません。",
)
SAFE_HARBOR: tuple[tuple[str, Both, tuple[str, ...]], ...] = (
    ("A", ("Names", "氏名"), ()),
    (
        "B",
        (
            "Geography smaller than a state; ZIP only as its first three digits, and 000 for areas of 20,000 people or fewer",
            "州より小さい地理区分(ZIPは先頭3桁のみ、人口2万人以下の地域は000)",
        ),
        ("zip",),
    ),
    (
        "C",
        ("Dates finer than a year; ages over 89 only as 90 or older", "年より細かい日付、89歳超の年齢(90歳以上に統合)"),
        ("date", "over_89"),
    ),
    ("D", ("Telephone numbers", "電話番号"), ("phone",)),
    ("E", ("Fax numbers", "FAX番号"), ("phone",)),
    ("F", ("E-mail addresses", "電子メールアドレス"), ("email",)),
    ("G", ("Social security numbers", "社会保障番号"), ("ssn",)),
    ("H", ("Medical record numbers", "診療録番号"), ()),
    ("I", ("Health plan beneficiary numbers", "医療保険の受給者番号"), ()),
    ("J", ("Account numbers", "口座番号"), ("card",)),
    ("K", ("Certificate and licence numbers", "証明書・免許番号"), ()),
    ("L", ("Vehicle identifiers and licence plates", "車両識別番号・ナンバープレート"), ()),
    ("M", ("Device identifiers and serial numbers", "機器識別番号・製造番号"), ()),
    ("N", ("Web addresses", "URL"), ("url",)),
    ("O", ("IP addresses", "IPアドレス"), ("ip",)),
    ("P", ("Biometric identifiers", "生体識別子"), ()),
    ("Q", ("Full-face photographs", "顔全体の写真"), ()),
    ("R", ("Any other unique number, characteristic or code", "その他の固有の番号・特徴・符号"), ()),
)


def _hipaa(known: Material) -> Checklist:
    items = [_harbor(known, key, title, kinds) for key, title, kinds in SAFE_HARBOR]
    return Checklist(
        key="hipaa", title=HIPAA[0], title_ja=HIPAA[1], lead=HIPAA_LEAD[0], lead_ja=HIPAA_LEAD[1], items=items
    )


def _harbor(known: Material, key: str, title: Both, kinds: tuple[str, ...]) -> CheckItem:
    found = known.columns_with(*kinds)
    if found:
        return item(
            key,
            title,
            "open",
            (
                f"Values of this form are released in: {listed(found)}.",
                f"この形式の値が提供されています:{listed(found)}。",
            ),
        )
    gone = [name for name in known.identifiers if name not in known.released]
    if key in ("A", "R") and gone:
        return item(
            key,
            title,
            "stated",
            (
                f"Not released: {listed(gone)}. Whether nothing else is such an identifier is to be stated.",
                f"提供しない列:{listed(gone)}。他に該当がないことは事業者が記載してください。",
            ),
        )
    if not kinds:
        return item(key, title, "stated", TO_STATE)
    return item(
        key, title, "evidence", ("No released value has this form.", "この形式の提供値は見つかりませんでした。")
    )


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


def _wp216(known: Material) -> Checklist:
    items = [_question(known, key, title) for key, title in QUESTIONS]
    return Checklist(
        key="wp216", title=WP216[0], title_ja=WP216[1], lead=WP216_LEAD[0], lead_ja=WP216_LEAD[1], items=items
    )


def _question(known: Material, key: str, title: Both) -> CheckItem:
    mine = [one for one in known.attacks if one.question == key and one.attack.tried]
    if not mine:
        return item(
            key,
            title,
            "stated",
            (
                "No attack of this kind could be run: too few columns, or no secret was named.",
                "この種の攻撃は実行できませんでした(列が少ない、又は秘密の列の指定がない)。",
            ),
        )
    worst = max(mine, key=lambda one: one.risk.value if one.risk else 0.0)
    risk = worst.risk
    said = f"{100 * risk.value:.1f} % ({100 * risk.low:.1f}–{100 * risk.high:.1f} %)" if risk else "–"
    better = any(one.better_than_control and not one.allowed for one in mine)
    return item(
        key,
        title,
        "open" if better else "evidence",
        (
            f"Attacks of this kind: {len(mine)}; the strongest adds {said} to its control. "
            + ("At least one does better than its control." if better else "None does better than its control."),
            f"この種の攻撃:{len(mine)}種。最も強い攻撃が対照群に上乗せする割合:{said}。"
            + ("対照群を上回る攻撃があります。" if better else "対照群を上回る攻撃はありません。"),
        ),
    )


# ISO ------------------------------------------------------------------------------------------------------------------

ISO: Both = ("ISO/IEC 20889: names of the techniques used", "ISO/IEC 20889:使用した技術の名称")
ISO_LEAD: Both = ("The steps that were taken, by the names of the standard.", "実施した処理を規格の名称で示します。")


def _iso(known: Material) -> Checklist:
    names = list(dict.fromkeys(step["name"] for step in known.steps))
    items = [
        item(name, (name, name), "evidence", ISO_NAMES.get(name, ("Not named by the standard", "規格に名称なし")))
        for name in names
    ]
    if not items:
        items = [
            item(
                "unknown",
                ("How the release was made is not known here", "加工方法は本ソフトウェアには不明"),
                "stated",
                TO_STATE,
            )
        ]
    return Checklist(key="iso", title=ISO[0], title_ja=ISO[1], lead=ISO_LEAD[0], lead_ja=ISO_LEAD[1], items=items)
