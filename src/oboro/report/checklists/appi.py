"""Japan: the processing standards for anonymously processed information, and the notice that the law asks for.

Act: 個人情報の保護に関する法律 (Act No. 57 of 2003). Rules: its Enforcement Rules (PPC Rules No. 3 of 2016), as numbered since
April 2022.
"""

from __future__ import annotations

from collections.abc import Sequence

from oboro.report.checklists.material import Both, Material, State, item, listed
from oboro.report.facts import CheckItem, Checklist
from oboro.text import say

__all__ = ["appi", "publication"]

APPI: Both = (
    "APPI: anonymously processed information (Enforcement Rules, Article 34)",
    "個人情報保護法:匿名加工情報(施行規則第34条)",
)
APPI_LEAD: Both = (
    "The five processing standards (Act, Article 43 (1); Rules, Article 34) and the duties of who makes, provides and receives "
    "the information (Act, Articles 43 to 46; Rules, Articles 35 to 38). This is not legal advice.",
    "加工基準の5つの号(法第43条第1項、施行規則第34条)と、作成者・提供者・受領者の義務(法第43条~第46条、施行規則第35条~第38条)。"
    "本欄は法的助言ではありません。",
)
DIRECT = ("name", "email", "phone", "card", "ssn", "account", "photo", "plate", "vehicle")
CODES = (
    "my_number",
    "licence",
    "passport",
    "pension",
    "residence_card",
    "plan",
    "biometric",
)  # Order, Article 1; Rules, Article 4
LINKS = ("code", "medical", "device")
UNUSUAL = ("extreme", "rare")
COARSER = (
    "top_code",
    "bottom_code",
    "drop_records",
    "generalize",
    "k_anonymize",
    "local_recode",
    "microaggregate",
    "partition_univariate",
    "round",
    "k_conceal",
)


def appi(known: Material) -> Checklist:
    """Article 34, items 1 to 5, and the duties around it."""
    items = [_descriptions(known), _codes(known), _links(known), _unusual(known), _other(known), *_duties(known)]
    english, japanese = publication(known.released)
    return Checklist(
        key="appi",
        title=APPI[0],
        title_ja=APPI[1],
        lead=APPI_LEAD[0],
        lead_ja=APPI_LEAD[1],
        items=items,
        text=english,
        text_ja=japanese,
    )


def _descriptions(known: Material) -> CheckItem:
    title = (
        "Item 1: descriptions that identify a specific individual are deleted or replaced irreversibly",
        "第1号:特定の個人を識別することができる記述等の全部又は一部の削除(復元できない置換えを含む)",
    )
    kept = [name for name in known.identifiers if name in known.released and name not in known.pseudonyms]
    found = [name for name in known.columns_with(*DIRECT) if name not in kept]
    if kept or found:
        told = (
            f"Identifying columns are released: {listed(kept)}. Values or names of columns that look like it: {listed(found)}.",
            f"識別列が提供データに残っています:{listed(kept)}。値又は列名が識別子に見える列:{listed(found)}。",
        )
        return item("34-1", title, "open", told)
    gone = listed([name for name in known.identifiers if name not in known.released])
    made = listed(list(known.pseudonyms))
    told = (
        f"Named as identifying and deleted: {gone}; replaced by pseudonyms: {made}. No other column is called a "
        "name, and no released value has the form of an e-mail address, a telephone or a card number. That these are all is to be "
        "stated.",
        f"識別列として指定し削除:{gone}。仮IDに置換え:{made}。他に氏名とみられる列名、メールアドレス・電話番号・カード番号等の形の値は見つかりませんでした。"
        "これで全てであることは事業者が記載してください。",
    )
    sure = known.steps and known.identifiers and not known.unseen
    return item("34-1", title, "evidence" if sure else "stated", known.but(told))


def _codes(known: Material) -> CheckItem:
    title = (
        "Item 2: individual identification codes (passport, licence, My Number, biometric codes …) are deleted entirely",
        "第2号:個人識別符号(旅券番号、免許証番号、マイナンバー、生体情報等)の全部の削除",
    )
    found = known.columns_with(*CODES)
    if found:
        told = (
            f"Values, their check digits or the names of columns look like such codes: {listed(found)}.",
            f"値・検査数字・列名が個人識別符号に見える列:{listed(found)}。",
        )
        return item("34-2", title, "open", told)
    told = (
        "No released value has the form of an individual number, a driving licence, a passport, a residence card or a basic "
        "pension number. Whether other codes (biometric, health insurance …) were held is to be stated.",
        "個人番号・運転免許証番号・旅券番号・在留カード番号・基礎年金番号の形の値は見つかりませんでした。"
        "その他の符号(生体情報、保険証の記号・番号等)の有無は事業者が記載してください。",
    )
    return item("34-2", title, "stated", known.but(told))


def _links(known: Material) -> CheckItem:
    title = (
        "Item 3: codes that link the processed information with the original are deleted or replaced",
        "第3号:個人情報と加工後の情報とを連結する符号の削除又は置換え",
    )
    found = known.columns_with(*LINKS)
    if found:
        told = (
            f"Each record has a value of its own, the same as in the original, or the column is called a number: {listed(found)}.",
            f"ほぼ全てのレコードが固有の値を持ち元データと共通する列、又は番号とみられる列:{listed(found)}。",
        )
        return item("34-3", title, "open", told)
    if known.pseudonyms:
        keyed = [name for name, method in known.pseudonyms.items() if method == "hmac"]
        told = (
            f"Pseudonyms are released: {listed(list(known.pseudonyms))}. That the key (of {listed(keyed)}), or the seed from which "
            "the others can be made again, is destroyed or was never kept is to be stated.",
            f"仮IDを含みます:{listed(list(known.pseudonyms))}。鍵({listed(keyed)})又は再現できる乱数シードを廃棄したこと"
            "(又は保持していないこと)は事業者が記載してください。",
        )
        return item("34-3", title, "stated", told)
    told = (
        "No released column repeats one of the original in which each record has a value of its own.",
        "元データでレコードごとに固有の値を持つ列は提供データにありません。",
    )
    if not known.steps or known.unseen:
        more = " Whether other codes link the tables is to be stated.", "他の連結符号の有無は事業者が記載してください。"
        return item("34-3", title, "stated", known.but((told[0] + more[0], told[1] + more[1])))
    more = (
        " No step makes pseudonyms, and no table of correspondence is written.",
        "仮IDを作る処理はなく、対応表は出力していません。",
    )
    return item("34-3", title, "evidence", (told[0] + more[0], told[1] + more[1]))


def _unusual(known: Material) -> CheckItem:
    title = (
        "Item 4: idiosyncratic descriptions (such as an age of 116) are deleted or replaced",
        "第4号:特異な記述等(例:116歳)の削除又は置換え",
    )
    steps, odd = list(dict.fromkeys(known.named(*COARSER))), known.columns_with(*UNUSUAL)
    seen = (
        f"Steps: {listed(steps)}. Columns with values far from all others, or held by very few records: {listed(odd)}.",
        f"処理:{listed(steps)}。極端な値、又はごく少数のレコードのみが持つ値のある列:{listed(odd)}。",
    )
    if known.least is not None:
        told = (
            f"Every released record can be at least {known.least} people's.",
            f"どの提供レコードも少なくとも {known.least} 人のものであり得ます。",
        )
        alone = not known.holds
    else:
        count = "–" if known.uniques is None else f"{known.uniques:,}"
        told = (
            f"Released records that stand alone in the quasi-identifiers: {count}.",
            f"準識別子の組合せが一意な提供レコード:{count}件。",
        )
        alone = bool(known.uniques)
    sure = steps and not known.unseen and (known.least is not None or known.uniques is not None)
    state: State = "open" if alone or odd else "evidence" if sure else "stated"
    return item("34-4", title, state, known.but((f"{seen[0]} {told[0]}", seen[1] + told[1])))


def _other(known: Material) -> CheckItem:
    title = (
        "Item 5: other measures in view of the nature of the database",
        "第5号:個人情報データベース等の性質を踏まえたその他の措置",
    )
    models, models_ja = (listed(say(list(known.models), lang)) for lang in ("en", "ja"))
    run = [one for one in known.attacks if one.found.tried]
    said = (
        f"Verified on the released table: {models}. Attacks that were run: {len(run)}"
        + (", at least one better than its control." if known.beaten else "."),
        f"提供データ上で検証済み:{models_ja}。実行した攻撃:{len(run)}種"
        + ("(対照群を上回るものあり)。" if known.beaten else "。"),
    )
    if known.steps and not known.named("shuffle", "sort"):
        said = (
            said[0] + " The records stand in the order of the original.",
            said[1] + "レコードは元データの順に並んでいます。",
        )
    told = (
        f"{said[0]} Differences to other records of the database, movements and histories are to be judged by the owner.",
        f"{said[1]}データベース内の他の個人情報との差異、移動・購買履歴等の性質は事業者が判断してください。",
    )
    return item("34-5", title, "open" if known.beaten or known.holds is False else "stated", told)


DUTIES: tuple[tuple[str, Both, Both], ...] = (
    (
        "35",
        (
            "Act, Article 43 (2); Rules, Article 35: security of what was deleted and of how the processing was done",
            "法第43条第2項・規則第35条:加工方法等情報の安全管理措置",
        ),
        (
            "What was deleted, the recipe, its seed, keys and this report are such information. Say who may hold them and is "
            "responsible, by which rules, and how others are kept out. The public version leaves them out.",
            "削除した記述等、レシピ、乱数シード、鍵、本報告書は加工方法等情報に当たり得ます。取扱者の権限と責任、規程の整備、"
            "権限のない者による取扱いの防止を記載してください(公開版には含まれません)。",
        ),
    ),
    (
        "36",
        (
            "Act, Article 43 (3); Rules, Article 36: publish the items of information contained, without delay after making",
            "法第43条第3項・規則第36条:作成時の公表(含まれる個人に関する情報の項目、作成後遅滞なく)",
        ),
        (
            "Items contained: {columns}. A text to edit stands below; where and when it was published is to be stated.",
            "含まれる項目:{columns}。公表文案は下記。公表の場所・日付は事業者が記載してください。",
        ),
    ),
    (
        "37",
        (
            "Act, Article 43 (4); Rules, Article 37: before providing it, publish items and method; tell the receiver what it is",
            "法第43条第4項・規則第37条:第三者提供時のあらかじめの公表(項目・提供の方法)及び提供先への明示",
        ),
        (
            "Items: {columns}. The method of provision and how the receiver is told are to be stated; the text below has room.",
            "項目:{columns}。提供の方法及び明示の方法は事業者が記載してください。下記の文案に欄があります。",
        ),
    ),
    (
        "43-5",
        (
            "Act, Article 43 (5): who made it does not match it with other information to identify a person",
            "法第43条第5項:作成者による識別行為の禁止",
        ),
        ("To be stated by the owner.", "取扱事業者が記載する事項。"),
    ),
    (
        "43-6",
        (
            "Act, Article 43 (6): endeavour to keep it secure, to handle complaints, and to publish these measures",
            "法第43条第6項:安全管理措置・苦情処理等の措置及びその公表(努力義務)",
        ),
        ("To be stated by the owner.", "取扱事業者が記載する事項。"),
    ),
    (
        "44",
        (
            "Act, Articles 44 to 46; Rules, Article 38: the receiver publishes before passing it on, identifies nobody, acquires "
            "nothing of what was deleted or how, and keeps it secure",
            "法第44条~第46条・規則第38条:受領者の義務(再提供時の公表・明示、識別行為及び加工方法等情報の取得の禁止、安全管理措置等)",
        ),
        ("To be stated in the contract with the receiver.", "提供先との契約等に記載する事項。"),
    ),
)


def _duties(known: Material) -> list[CheckItem]:
    """What no software can do for the owner."""
    columns = listed(known.released)
    return [
        item(key, title, "stated", (told[0].replace("{columns}", columns), told[1].replace("{columns}", columns)))
        for key, title, told in DUTIES
    ]


def publication(columns: Sequence[str]) -> Both:
    """A text for the notice that the law asks for, to be edited; English and Japanese."""
    english = "\n".join(
        [
            "Notice on anonymously processed information",
            "",
            "[Company] has made, and provides to third parties, anonymously processed information as follows (Act on the "
            "Protection of Personal Information, Article 43 (3) and (4)).",
            "1. Items of information on individuals contained:",
            *(f"   - {name}" for name in columns),
            "2. Method of provision: [for example: an encrypted file, over a server with access control]",
            "3. Receiver is told that the information is anonymously processed information: [how]",
            "4. Measures for security and complaints: [outline]",
            "5. Contact: [department, address]",
            "Published on: [date]",
        ]
    )
    japanese = "\n".join(
        [
            "匿名加工情報の作成及び第三者提供に関する公表",
            "",
            "[事業者名]は、個人情報の保護に関する法律第43条第3項及び第4項に基づき、次のとおり匿名加工情報を作成し、第三者に提供します。",
            "1.匿名加工情報に含まれる個人に関する情報の項目",
            *(f"  ・{name}" for name in columns),
            "2.提供の方法:[例:暗号化したファイルを、アクセス制御されたサーバを介して提供]",
            "3.提供先への明示:[匿名加工情報である旨を明示する方法]",
            "4.安全管理措置及び苦情の処理:[概要]",
            "5.問合せ先:[部署名・連絡先]",
            "公表日:[年月日]",
        ]
    )
    return english, japanese
