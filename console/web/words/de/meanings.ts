// What each setting means, in German, by its key in the settings file.

export const words: Readonly<Record<string, string>> = {
  "server.data_dir": "alles, was die eingebauten Teile aufbewahren",
  "server.log_format": "text | json: als Text oder als JSON",
  "server.log_level": "debug | info | warn | error: ab welcher Stufe etwas im Log steht",
  "store.kv": "Adresse eines KV-Connect-Dienstes, für mehrere Knoten",
  "http.listen":
    "wo Konsole, Telefonseite, Zustand und Metriken zu erreichen sind; bei Port 0 wählt der Rechner",
  "http.public_url":
    "wie Browser und Telefone hierher finden; eine Loopback-Adresse erreichen Telefone nicht; nicht gesetzt: wo http.listen ist, auf Loopback, wenn das jede Adresse ist",
  "http.tls_cert": "Pfad einer PEM-Datei; beide oder keine",
  "http.tls_key": "Pfad einer PEM-Datei; beide oder keine",
  "radius.listen":
    "ein Text oder eine Liste; IPv4 und IPv6; ohne IPv6 0.0.0.0; beide Platzhalter auf einem Port, oder ein Platzhalter und eine seiner Adressen, sind ein Fehler",
  "radius.accounting_listen":
    "wo Accounting-Requests außer am Anmeldeport beantwortet werden; ein Text oder eine Liste wie bei radius.listen",
  "http.trusted_proxies":
    "Adressen oder CIDR-Bereiche von Reverse-Proxys, deren X-Forwarded-For gilt, von rechts gelesen",
  "radius.secret":
    "für jede Clientadresse, solange kein Client angegeben ist; leer: beim ersten Start erzeugt",
  "radius.state":
    "auto | name | token; auto hängt an den Namen des Schritts ein zufälliges Token, wenn eine Anfrage weder Calling-Station-Id noch NAS-Port-Id noch NAS-Port trägt",
  "radius.directory": "das Ziel, dessen Benutzer sich anmelden",
  "radius.conversation_ttl_s": "wie lange eine Anmeldung dauern darf",
  "radius.login_join_window_s": "innerhalb dieser Zeit führt eine wiederholte Anmeldung die laufende fort",
  "factors.enabled": "welche Faktoren angeboten werden",
  "factors.terminal_name": "was eine Freigabe als Ort der Anmeldung nennt",
  "factors.requester_name": "wen Nachrichten und Anrufe als Absender nennen",
  "factors.phone_numbers":
    "registered | any; any nimmt jede getippte Nummer, und das ist gar kein zweiter Faktor",
  "factors.enrol_at_login":
    "after_first_factor | never | always: ob sich bei einer Anmeldung ein eigener Faktor koppeln lässt",
  "factors.country_codes": 'etwa ["1", "49"]; [] = alle außer Satelliten- und Mehrwertnummern',
  "factors.device.continue_wait_ms":
    "wie lange „continue“ auf eine offene Freigabe wartet, bevor es wieder fragt",
  "factors.device.number_matching": "nur beim eingebauten Dienst: am Telefon ist eine Zahl zu wählen",
  "factors.passcode.sms_digits": "Ziffern eines Codes per SMS",
  "factors.passcode.voice_digits": "Ziffern eines vorgelesenen Codes",
  "factors.passcode.lifetime_s": "wie lange ein Code gilt",
  "factors.pushes.per_user": "so viele Freigaben werden im Zeitfenster von einem Benutzer erbeten",
  "factors.pushes.window_s": "das Zeitfenster",
  "factors.lockout.failures": "so viele Fehlversuche hintereinander sperren einen Benutzer",
  "factors.lockout.minutes": "verdoppelt sich mit jeder weiteren Sperre, bis 24 h",
  "factors.lockout.hard_limit": "danach entsperrt nur ein Administrator",
  "factors.lockout.warn_locks_per_hour":
    "bei mehr Sperren in einer Stunde warnen das Log und die Seite Zustand",
  "factors.lockout.warn_failures_per_hour": "ebenso bei mehr Fehlversuchen aller Benutzer",
  "factors.sends.per_user": "SMS und Anrufe für einen Benutzer im Zeitfenster",
  "factors.sends.per_number": "SMS und Anrufe an eine Nummer im Zeitfenster",
  "factors.sends.window_s": "das Zeitfenster",
  "factors.sends.total_per_hour":
    "SMS und Anrufe für alle Benutzer in einer Stunde; ist das erreicht, wird nichts gesendet",
  "factors.sends.per_client_per_hour": "SMS und Anrufe für die Anmeldungen eines Clients in einer Stunde",
  "second_factor.url": 'leer = eingebaut; sonst etwa "https://api.example.com" (der Client hängt /v1/… an)',
  "second_factor.consumer_key": "von jenem Dienst vergeben",
  "second_factor.consumer_secret": "von jenem Dienst vergeben",
  "second_factor.timeout_ms": "Frist eines Aufrufs",
  "telephony.url": 'leer = eingebauter Postausgang; sonst etwa "https://api.twilio.com"',
  "telephony.account_id": "von jenem Dienst vergeben",
  "telephony.auth_token": "von jenem Dienst vergeben",
  "telephony.from": "die Nummer, von der SMS und Anrufe kommen",
  "telephony.twiml_echo_url": "gesetzt: das Feld Url zeigt dorthin; leer: das Markup steht im Feld Twiml",
  "telephony.connections_per_route": "gleichzeitig",
  "telephony.connections_total": "gleichzeitig",
  "telephony.timeout_ms": "Frist eines Aufrufs",
  "console.session_hours": "so lange lebt eine Sitzung höchstens",
  "console.audit_days": "Tage, die ein Eintrag des Protokolls aufbewahrt wird",
  "console.idle_minutes": "eine offene, sichtbare Live-Seite zählt als Benutzung",
  "console.oidc.issuer":
    "Anmeldung bei diesem OpenID-Connect-Dienst; leer: keiner. Er kommt zurück zu http.public_url mit /console/api/oidc/callback dahinter",
  "console.oidc.name": "wie der Dienst bei der Anmeldung heißt; leer: der Hostname des Ausstellers",
  "console.oidc.client_id": "wie vom Dienst vergeben",
  "console.oidc.client_secret": "wie vom Dienst vergeben",
  "console.oidc.scopes": "was erbeten wird, durch Leerzeichen getrennt; openid gehört dazu",
  "console.oidc.role_claim": "der Claim des ID-Tokens, mit dem die vier Listen darunter verglichen werden",
  "console.oidc.owners": "Werte des Claims, die jemanden zum Eigentümer machen",
  "console.oidc.user_managers": "Werte, die jemanden zum Benutzerverwalter machen",
  "console.oidc.operators": "Werte, die jemanden zum Bediener machen",
  "console.oidc.viewers":
    "Werte, die jemanden zum Betrachter machen; wer keinen von allen hat, kommt nicht hinein",
  "radius.message_authenticator":
    "require | auto | off; auto: geprüft, wenn vorhanden, und je Absenderadresse ab dem ersten signierten Access-Request verlangt. Unter [radius] prüft auto nur, was vorhanden ist",
  "radius.limit_proxy_state": "Proxy-State ohne Message-Authenticator verwerfen",
  "radius.first_factor": "none | directory | ldap | radius: wer das Passwort vor dem zweiten Faktor prüft",
  "radius.first_factor_backend":
    'für first_factor = "ldap": der Name eines LDAP-Backends des Ziels, das radius.directory nennt',
  "radius.first_factor_server.address":
    'der Server, den first_factor = "radius" fragt: eine IP-Adresse und ein Port',
  "radius.first_factor_server.secret": "das mit jenem Server geteilte Geheimnis",
  "radius.first_factor_server.timeout_ms": "wie lange auf seine Antwort gewartet wird",
  "radius.first_factor_server.message_authenticator":
    "require | auto; require: eine Antwort jenes Servers ohne Message-Authenticator wird ignoriert. auto: verlangt ab der ersten signierten Antwort, bis zum nächsten Neustart",
  "radius.device": "challenge | hold | hold_then_challenge: wie auf eine Freigabe am Telefon gewartet wird",
  "radius.hold_s": "längste Wartezeit innerhalb eines Access-Request",
  "radius.append_mode":
    "„passwort,123456“ und „passwort,push|sms|call|phone|auto“ annehmen; wird kein erster Faktor geprüft, auch einen Code allein",
  "radius.append_separator": "für append_mode: das Zeichen zwischen dem Passwort und dem, was folgt",
  "radius.unknown_users":
    "auto | allow | reject: für einen User-Name, der nicht im Verzeichnis ist; auto: abweisen, wenn ein erster Faktor geprüft wird, sonst zulassen",
  "radius.strip_domains":
    'Domänen, die vorn von User-Name entfernt werden, wie in ["CORP"]: CORP\\alice gilt als alice',
  "radius.strip_realms":
    'Realms, die hinten von User-Name entfernt werden, wie in ["corp.example"]: alice@corp.example gilt als alice',
};
