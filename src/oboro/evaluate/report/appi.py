"""Japan: the processing standards for anonymously processed information, and the notice that the law asks for."""

from __future__ import annotations

from collections.abc import Sequence

from oboro.evaluate.report.facts import CheckItem, Checklist
from oboro.evaluate.report.language import translate
from oboro.evaluate.report.material import TO_STATE, Both, Material, item, listed

__all__ = ["appi", "publication"]

APPI: Both = (
    "APPI: anonymously processed information (Enforcement Rules, Article 34)",
    "個人情報保護法:匿名加工情報(施行規則第34条)",
)
APPI_LEAD: Both = (
    "The five processing standards and the duties to publish (Act, Articles 43 and 44; Rules, Articles 34 to 38). "
    "This is not legal advice.",
    "加工基準の5つの号と公表等の義務(法第43条・第44条、施行規則第34条~第38条)。本欄は法的助言ではありません。",
)


def appi(known: Material) -> Checklist:
    """Article 34, items 1 to 5, and the duties around it."""
    items = [_appi_1(known), _appi_2(known), _appi_3(known), _appi_4(known), _appi_5(known), *_appi_duties(known)]
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


def _appi_1(known: Material) -> CheckItem:
    title = (
        "Item 1: descriptions that identify a specific individual are deleted or replaced irreversibly",
        "第1号:特定の個人を識別することができる記述等の全部又は一部の削除(復元できない置換えを含む)",
    )
    left = [name for name in known.identifiers if name in known.released]
    kept = [name for name in left if not known.named("pseudonymize")]
    if kept:
        return item(
            "34-1",
            title,
            "open",
            (
                f"Identifying columns are released: {listed(kept)}.",
                f"識別列が提供データに残っています:{listed(kept)}。",
            ),
        )
    if not known.identifiers:
        return item(
            "34-1",
            title,
            "stated",
            (
                f"No column is named as identifying. Not released: {listed(known.dropped)}. "
                "Whether that is all of them is to be stated.",
                f"識別列の指定がありません。提供しない列:{listed(known.dropped)}。これで全てであることは事業者が記載してください。",
            ),
        )
    replaced = f" Replaced by pseudonyms: {listed(left)}." if left else ""
    replaced_ja = f"仮ID等に置換え:{listed(left)}。" if left else ""
    return item(
        "34-1",
        title,
        "evidence",
        (
            f"Deleted: {listed([name for name in known.identifiers if name not in known.released])}.{replaced}",
            f"削除:{listed([name for name in known.identifiers if name not in known.released])}。{replaced_ja}",
        ),
    )


def _appi_2(known: Material) -> CheckItem:
    title = (
        "Item 2: individual identification codes (passport, licence, My Number, biometric codes …) are deleted entirely",
        "第2号:個人識別符号(旅券番号、免許証番号、マイナンバー、生体情報等)の全部の削除",
    )
    found = known.columns_with("ssn", "card")
    if found:
        return item(
            "34-2",
            title,
            "open",
            (
                f"Values look like numbers of documents or cards in: {listed(found)}.",
                f"番号・カード番号に見える値があります:{listed(found)}。",
            ),
        )
    return item(
        "34-2",
        title,
        "stated",
        (
            "No released value has the form of a social security or card number. Whether other codes were held is to be stated.",
            "社会保障番号・カード番号の形の値は見つかりませんでした。他の符号の有無は事業者が記載してください。",
        ),
    )


def _appi_3(known: Material) -> CheckItem:
    title = (
        "Item 3: codes that link the processed information with the original are deleted",
        "第3号:個人情報と匿名加工情報とを相互に連結する符号の削除",
    )
    if not known.named("pseudonymize"):
        return item(
            "34-3",
            title,
            "evidence",
            (
                "No step makes pseudonyms, and no key or table of correspondence is written.",
                "仮IDを作る処理はなく、鍵や対応表は出力していません。",
            ),
        )
    return item(
        "34-3",
        title,
        "stated",
        (
            "Pseudonyms are released. That their key, or the table that leads back, is destroyed or was never kept "
            "is to be stated.",
            "仮IDを含みます。鍵又は対応表を廃棄したこと(又は保持していないこと)は事業者が記載してください。",
        ),
    )


def _appi_4(known: Material) -> CheckItem:
    title = (
        "Item 4: idiosyncratic descriptions (such as an age of 116) are deleted or coarsened",
        "第4号:特異な記述等(例:116歳)の削除又は置換え",
    )
    steps = known.named(
        "top_code",
        "bottom_code",
        "drop_records",
        "generalize",
        "k_anonymize",
        "local_recode",
        "microaggregate",
        "round",
        "k_conceal",
    )
    if known.least is not None:
        told = (
            f"Steps: {listed(steps)}. Every released record can be at least {known.least} people's.",
            f"処理:{listed(steps)}。どの提供レコードも少なくとも {known.least} 人のものであり得ます。",
        )
        return item("34-4", title, "evidence" if steps and known.holds else "open", told)
    alone = known.uniques
    said = "–" if alone is None else str(alone)
    told = (
        f"Steps: {listed(steps)}. Released records that stand alone in the quasi-identifiers: {said}.",
        f"処理:{listed(steps)}。準識別子の組合せが一意な提供レコード:{said}件。",
    )
    return item("34-4", title, "evidence" if steps and not alone else "open", told)


def _appi_5(known: Material) -> CheckItem:
    title = (
        "Item 5: other measures in view of the nature of the database",
        "第5号:個人情報データベース等の性質を踏まえたその他の措置",
    )
    models, models_ja = listed(known.models), listed([translate(one, "ja") for one in known.models])
    told = (
        f"Verified on the released table: {models}. Attacks were run against it (see the section on attacks). "
        "Differences to other databases, movements and histories are to be judged by the owner.",
        f"提供データ上で検証済み:{models_ja}。攻撃評価を実施しました(攻撃の節を参照)。"
        "他のデータベースとの差異、移動・購買履歴等の性質は事業者が判断してください。",
    )
    return item("34-5", title, "evidence" if known.models and known.holds else "stated", told)


def _appi_duties(known: Material) -> list[CheckItem]:
    columns = listed(known.released)
    return [
        item(
            "35",
            (
                "Rules, Article 35: security of the information on the method of processing",
                "規則第35条:加工方法等情報の安全管理措置",
            ),
            "stated",
            (
                "The recipe, its seed, keys and this report are such information: say who may hold them. "
                "The public version leaves them out.",
                "レシピ、乱数シード、鍵、本報告書は加工方法等情報に当たります。取扱者の範囲等を記載してください(公開版には含まれません)。",
            ),
        ),
        item(
            "36",
            (
                "Act, Article 43 (3): publish the items of information contained, when made",
                "法第43条第3項・規則第36条:作成時の公表(含まれる個人に関する情報の項目)",
            ),
            "evidence",
            (
                f"Items contained: {columns}. A text to edit stands below.",
                f"含まれる項目:{columns}。公表文案は下記。",
            ),
        ),
        item(
            "37",
            (
                "Act, Articles 43 (4) and 44: publish items and method of provision, and tell the receiver",
                "法第43条第4項・第44条、規則第37条・第38条:第三者提供時の公表(項目・提供の方法)及び明示",
            ),
            "stated",
            (
                "The method of provision is to be stated; the text below leaves room for it.",
                "提供の方法は事業者が記載してください。下記の文案に欄があります。",
            ),
        ),
        item(
            "43-5",
            (
                "Act, Article 43 (5): no matching with other information to identify a person",
                "法第43条第5項:識別行為の禁止",
            ),
            "stated",
            TO_STATE,
        ),
    ]


def publication(columns: Sequence[str]) -> Both:
    """A text for the notice that the law asks for, to be edited; English and Japanese."""
    english = "\n".join(
        [
            "Notice on anonymously processed information",
            "",
            "[Company] has made and provides anonymously processed information as follows.",
            "1. Items of information on individuals contained:",
            *(f"   - {name}" for name in columns),
            "2. Method of provision: [for example: an encrypted file, over a server with access control]",
            "3. Receiver is told that the information is anonymously processed information: [how]",
            "4. Contact: [department, address]",
            "Published on: [date]",
        ]
    )
    japanese = "\n".join(
        [
            "匿名加工情報の作成及び第三者提供に関する公表",
            "",
            "[事業者名]は、個人情報の保護に関する法律第43条に基づき、次のとおり匿名加工情報を作成し、第三者に提供します。",
            "1.匿名加工情報に含まれる個人に関する情報の項目",
            *(f"  ・{name}" for name in columns),
            "2.提供の方法:[例:暗号化したファイルを、アクセス制御されたサーバを介して提供]",
            "3.提供先への明示:[匿名加工情報である旨を明示する方法]",
            "4.問合せ先:[部署名・連絡先]",
            "公表日:[年月日]",
        ]
    )
    return english, japanese
