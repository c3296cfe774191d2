"""Roles by the names of columns, in English and Japanese, and by the commonest words of eight more languages.

A wrong guess is one line to correct. A column whose name has no known word is judged by its values alone, which show no
sex, place or job.
"""

from __future__ import annotations

import re

from oboro.disclosure.identifiers import words_of
from oboro.schema import Role

__all__ = ["names_carried", "names_moment", "names_one_person", "names_person", "names_person_trait", "role_by_name"]


WORDS: tuple[tuple[Role, str], ...] = (  # the first match wins
    (
        Role.IDENTIFIER,
        r"(^|[_\W])(id|uuid|guid|ssn|nin|mynumber|passport|licen[cs]e|account|card|iban|e?mail|phone|tel|mobile|fax|url|ip)($|[_\W])"
        r"|^(?!file|user_?type).*(^|_|first|last|full|sur|given|family|user|customer)_?name\d?$"
        r"|(customer|user|member|patient|person|employee|subject|respondent)_?(id|no|nr|num|number|code)$"
        r"|氏名|名前|姓|メール|電話|携帯|会員番号|顧客番号|患者番号|職員番号|マイナンバー|口座|住所詳細"
        r"|(^|_)(vorname|nachname|familienname|telefon\w*|nom|pr[eé]nom|nombre|apellidos?|tel[eé]fono|cognome|telefono|apelido"
        r"|sobrenome|voornaam|achternaam|naam|nome|courriel|correo(_electr[oó]nico)?|nss|dni|nif|nie|curp|cpf|codice_fiscale|bsn|pesel"
        r"|steuer(nummer|_?id)|personnummer|versicher(ten|ungs)nummer)($|_)|姓名|电话|手机|身份证|성명|이름|전화|주민",
    ),
    (
        Role.SENSITIVE,
        r"diseas|diagnos|(^|_)(icd|dx|drg)(_|\d|$)|illness|injur|disab|medic|symptom|drug|income|salar|wage|earning|credit|debt|religio|politic|crim|orientation"
        r"|smok"
        r"|病名|傷病|疾患|診断|病歴|健診|検診|検査|所見|ストレス|既往|年収|所得|給与|宗教|犯罪|信条|要介護|要支援|介護度|障害|障がい|妊娠|喫煙"
        r"|krankheit|gehalt|einkommen|pflegegrad|behinderung|konfession|raucher|maladie|salaire|revenu|enfermedad|ingresos|malattia|stipendio|reddito|doen[cç]a|ziekte|inkomen"
        r"|疾病|诊断|收入|工资|질병|진단|소득|급여",
    ),
    (
        Role.QUASI,
        r"(^|[_\W])(age\w?|sex|gender|dob|city|town|municipality|district|state|county|prefecture|country|region|nationality|race|ethn\w*|zip\w*"
        r"|department|dept|post\w*code|postal\w*|address|birth\w*|marital\w*|married|education\w*|educ?\w?|school|job|occupation|profession|employer"
        r"|workclass|native\w*|lat|latitude|lon|lng|longitude)($|[_\W])"
        r"|年齢|性別|生年|誕生|住所|郵便|都道府県|市区町村|市町村|居住|地域|^(市|区|町|町名|県|県名|国|国名)$|職種|国籍|職業|部署|所属|勤務先|学歴|婚姻|出身"
        r"|(^|_)(alter|geschl(echt)?|geb|geburts\w*|geboren|plz|postleitzahl|ort|wohnort|gemeinde|landkreis|abteilung|stadt|strasse|straße|adress?e|direcci[oó]n|indirizzo|endere[cç]o|adres|land|staats\w*|beruf|familienstand"
        r"|bundesland|sexe|[aâ]ge|naissance|date_de_naissance|code_postal|ville|commune|d[eé]partement|pays|m[eé]tier|profession"
        r"|edad|sexo|g[eé]nero|nacimiento|fecha_de_nacimiento|c[oó]digo_postal|ciudad|pa[ií]s|ocupaci[oó]n|estado_civil"
        r"|et[aà]|sesso|genere|nascita|data_di_nascita|cap|citt[aà]|paese|professione|idade|nascimento|cep|cidade|profiss[aã]o"
        r"|leeftijd|geslacht|geboorte\w*|postcode|woonplaats|beroep)($|_)"
        r"|年龄|性别|出生|邮编|地址|城市|省份|职业|民族|나이|연령|성별|생년|우편|주소|도시|직업",
    ),
)
# Whose rows these are; `store_id` and `product_id` name things, and need more than their name.
PERSON = (
    r"^(subject|person|patient|customer|client|member|user|employee|respondent|individual|participant|pupil|student|imei|imsi|msisdn)$"
    r"|(subject|person|patient|customer|client|member|user|employee|respondent|individual|participant|pupil|student|driver|passenger"
    r"|rider|guest|visitor|voter|donor|player|resident|citizen|tenant|taxpayer|worker|staff|teacher|child|insured|subscriber|device|vehicle"
    r"|card|account|mitarbeiter|kunden?|patienten?)_?(id|no|nr|num|number|nummer|code|key|uuid)$"
    r"|(会員|顧客|患者|職員|社員|従業員|被験者|被保険者|受診者|個人|利用者|加入者|契約者|住民|学生|生徒|児童|端末|車両)_?(番号|id|コード|no|№)?_?$"
    r"|(カード|口座)_?(番号|id|コード|no|№)$"
)
CARRIED = (
    r"^(device|handset|phone|vehicle|car|bike|scooter|tag|機器)$"  # a kind of thing, or whose it is: its values tell
)
NUMBER = r"^(id|nr|pid|uid)($|_?(id|no|nr|num|number|code|key)$)"
HOUSEHOLD = r"^(household|family)($|_?(id|no|nr|num|number|code|key)$)|世帯_?(番号|id|コード|no|№)?_?$"
THING = (
    r"product|item|store|shop|order|hospital|school|class|inst|provider|cent(er|re)|country|site|ward|clinic"
    r"|商品|店舗|注文|病院|学校"
)
# What one person keeps from row to row.
TRAIT = (
    r"(^|_)(sex|gender|female|male|race|ethn\w*|black|white|dob|birth\w*|nationality)($|_)|性別|生年|誕生|国籍|出身"
    r"|(^|_)(geschlecht|geburts\w*|sexe|naissance|sexo|nacimiento|sesso|nascita|nascimento|geslacht|geboorte\w*)($|_)|性别|出生|성별|생년"
)
MOMENT = (
    r"(^|_)(year|yr|month|week|day|date|time|wave|visit|period|round|quarter|occasion|session|age|enum|seq)($|_)"
    r"|年|月|日|時|回"
)


def role_by_name(name: str) -> Role | None:
    """Return the role that the name discloses, if it does.

    >>> role_by_name("birthDate"), role_by_name("salary"), role_by_name("widgets")
    (<Role.QUASI: 'quasi'>, <Role.SENSITIVE: 'sensitive'>, None)
    >>> role_by_name("Geburtsdatum"), role_by_name("code postal"), role_by_name("性别")
    (<Role.QUASI: 'quasi'>, <Role.QUASI: 'quasi'>, <Role.QUASI: 'quasi'>)
    """
    words = words_of(name)
    return next((role for role, pattern in WORDS if re.search(pattern, words)), None)


def names_person(name: str) -> bool:
    """Return whether the name says that the column numbers people or households, and not things.

    >>> names_person("nr"), names_person("patient_no"), names_person("product_id")
    (True, True, False)
    """
    words = words_of(name)
    return bool(re.search(f"{PERSON}|{NUMBER}|{HOUSEHOLD}", words)) and not re.search(THING, words)


def names_one_person(name: str) -> bool:
    """Return whether the name says it in a word: the number of a row may be called `id` too, and a household is several people.

    >>> names_one_person("patient_no"), names_one_person("id"), names_one_person("household")
    (True, False, False)
    """
    words = words_of(name)
    return bool(re.search(PERSON, words)) and not re.search(THING, words)


def names_household(name: str) -> bool:
    """Return whether the name says that the column numbers households: several people each.

    >>> names_household("household_id"), names_household("世帯番号"), names_household("patient_no")
    (True, True, False)
    """
    return bool(re.search(HOUSEHOLD, words_of(name)))


def names_carried(name: str) -> bool:
    """Return whether the name is of a thing that a person carries or drives: if its values are codes, each belongs to a person.

    >>> names_carried("device"), names_carried("device_type")
    (True, False)
    """
    return bool(re.search(CARRIED, words_of(name)))


def names_person_trait(name: str) -> bool:
    """Return whether the name says what stays with a person: sex, birth, origin."""
    return bool(re.search(TRAIT, words_of(name)))


def names_moment(name: str) -> bool:
    """Return whether the name says when a row was made, or which of a person's rows it is."""
    return bool(re.search(MOMENT, words_of(name)))
