// Values for each row of the table of settings: accepted ones, and refused ones.

/** Values in TOML: the first list is accepted, the second refused. */
export type Samples = Readonly<Record<string, readonly [good: readonly string[], bad: readonly string[]]>>;

const TEXT_128 = [['"x"', `"${"x".repeat(128)}"`], ['""', `"${"x".repeat(129)}"`, '"a\\nb"', "5"]] as const;
const SWITCH = [["true", "false"], ['"true"', "1"]] as const;
const SECRET = [['"s3cret"', '""'], ["5", `"${"x".repeat(1025)}"`, '["a"]']] as const;
const COUNT = [["1", "1000000"], ["0", "1000001", "1.5", '"5"', "inf"]] as const;
const CALL_MS = [["100", "30000"], ["99", "30001"]] as const;
const URLS = [
  ['""', '"https://api.example.com"', '"http://127.0.0.1:9/base/"', '"https://[2001:db8::1]"'],
  ['"api.example.com"', '"ftp://a"', '"https://u@a"', '"https://a/?"', '"https://a/#x"', '"https://"', "5"],
] as const;
const NAMES = [["[]", '["a", "b c"]'], ['"a"', '[""]', "[5]"]] as const;
const window = (low: number, high: number) => [[`${low}`, `${high}`], [`${low - 1}`, `${high + 1}`]] as const;

export const GENERAL_SAMPLES: Samples = {
  "enrolment.invitation_hours": window(1, 720),
  "enrolment.reminder_days": [["[]", "[3, 7]", '["1", "30"]'], [
    ...["3", "[0]", "[7, 3]", "[3, 3]", "[366]", "[1.5]", '["x"]', "[1,2,3,4,5,6,7,8,9,10,11]"],
  ]],
  "enrolment.deadline_days": window(0, 365),
  "enrolment.help_text": [['""', '"Call 5555."'], ['"a\\nb"', `"${"x".repeat(161)}"`, "5"]],
  "enrolment.per_minute": window(1, 60_000),
  "alerts.enabled": SWITCH,
  "alerts.spike_count": window(1, 1_000_000),
  "alerts.spike_factor": window(1, 1000),
  "alerts.failing_minutes": window(1, 1440),
  "alerts.per_hour": window(1, 1000),
  "server.data_dir": [['"./d"', '"/var/lib/c"'], ['""', "5"]],
  "server.log_format": [['"text"', '"json"'], ['"xml"', '"TEXT"']],
  "server.log_level": [['"debug"', '"error"'], ['"trace"', "true"]],
  "store.kv": [['""', '"https://kv.example.com/connect"', '"http://127.0.0.1:4512"'], [
    '"kv.example.com"',
    '"libsql://kv.example.com"',
    '"https://token@kv.example.com"',
    "5",
  ]],
  "store.upgrade_backup": [['""', '"none"', '"/var/backups/countersign"'], ["5", "true"]],
  "http.listen": [['"127.0.0.1:0"', '"[::1]:8080"', '"localhost:80"'], [
    '"8080"',
    '":80"',
    '"::1:80"',
    '"a:65536"',
  ]],
  "http.public_url": [['"https://a.example.com/"'], ['""', '"https://a/b"', '"a"']],
  "http.tls_cert": [["''"], ["5", "true"]],
  "http.tls_key": [['""'], ["5"]],
  "http.trusted_proxies": [["[]", "['127.0.0.1', '10.0.0.0/8', '2001:db8::/32']"], [
    "'127.0.0.1'",
    "['proxy']",
    "[5]",
  ]],
  "radius.listen": [['["[::]:1812"]', '"[::]:1812"', '["127.0.0.1:0", "[::1]:0"]'], [
    ...["[]", '["x"]', "[5]", '""', '"1812"'],
  ]],
  "radius.accounting_listen": [['["[::]:1813"]', '"[::]:1813"', '["127.0.0.1:0", "[::1]:0"]'], [
    ...["[]", '["x"]', "[5]", '""'],
  ]],
  "radius.tls_listen": [["[]"], ['["x"]', "[5]", '""']],
  "radius.tls_cert": [["''"], ["5", "true"]],
  "radius.tls_key": [['""'], ["5"]],
  "radius.tls_ca": [['""'], ["5"]],
  "radius.secret": SECRET,
  "radius.state": [['"auto"', '"name"', '"token"'], ['"none"']],
  "radius.directory": [['"default"'], ['"corp"', '""', "5"]],
  "radius.conversation_ttl_s": window(30, 3600),
  "radius.login_join_window_s": window(0, 300),
  "factors.enabled": [["[]", '["totp", "sms"]'], ['["sms", "sms"]', '["fax"]', '"sms"']],
  "factors.terminal_name": TEXT_128,
  "factors.requester_name": TEXT_128,
  "factors.phone_numbers": [['"registered"', '"any"'], ['"all"']],
  "factors.enrol_at_login": [['"after_first_factor"', '"never"', '"always"'], ["true"]],
  "factors.country_codes": [["[]", '["1", "49", "423"]'], ['["+1"]', '["1234"]', '[""]', "[1]"]],
  "factors.device.continue_wait_ms": window(0, 30_000),
  "factors.device.number_matching": SWITCH,
  "factors.passcode.sms_digits": window(4, 10),
  "factors.passcode.voice_digits": window(4, 10),
  "factors.passcode.lifetime_s": window(30, 600),
  "factors.pushes.per_user": COUNT,
  "factors.pushes.window_s": window(1, 86_400),
  "factors.lockout.failures": COUNT,
  "factors.lockout.minutes": window(1, 1440),
  "factors.lockout.hard_limit": COUNT,
  "factors.lockout.warn_locks_per_hour": COUNT,
  "factors.lockout.warn_failures_per_hour": COUNT,
  "factors.sends.per_user": COUNT,
  "factors.sends.per_number": COUNT,
  "factors.sends.window_s": window(1, 86_400),
  "factors.sends.total_per_hour": COUNT,
  "factors.sends.per_client_per_hour": COUNT,
  "help_desk.bypass_max_minutes": window(15, 1440),
  "help_desk.bypass_max_uses": window(1, 50),
  "help_desk.bypass_any_uses": SWITCH,
  "help_desk.verifications_per_hour": window(1, 60),
  "second_factor.url": URLS,
  "second_factor.consumer_key": SECRET,
  "second_factor.consumer_secret": SECRET,
  "second_factor.timeout_ms": CALL_MS,
  "push.enabled": SWITCH,
  "push.hosts": [["[]", '["fcm.googleapis.com", "*.push.apple.com", "push.example.com:8443"]'], [
    '"fcm.googleapis.com"',
    '["*"]',
    '["*.com"]',
    '["10.0.0.1"]',
    '["https://a.example"]',
    '["a.*.example"]',
    "[5]",
  ]],
  "push.contact": [['""', '"mailto:it@example.com"', '"https://example.com/contact"'], [
    '"it@example.com"',
    '"mailto:it"',
    '"http://example.com"',
    '"https://"',
    "5",
  ]],
  "telephony.url": URLS,
  "telephony.account_id": [['"AC1"', '""'], ["5"]],
  "telephony.auth_token": SECRET,
  "telephony.from": [['"+15005550006"', '""'], ["15005550006"]],
  "telephony.twiml_echo_url": URLS,
  "telephony.connections_per_route": [["1", "20"], ["0", "101", "21"]],
  "telephony.connections_total": [["2", "1000"], ["0", "1001"]],
  "telephony.timeout_ms": CALL_MS,
  "mail.host": [['""', '"smtp.example.com"', '"192.0.2.25"', '"2001:db8::25"', '"localhost"'], [
    '"smtp.example.com:587"',
    '"smtp://smtp.example.com"',
    '"a b"',
    "5",
  ]],
  "mail.port": window(1, 65_535),
  "mail.security": [['"starttls"', '"tls"', '"none"'], ['"ssl"', "true"]],
  "mail.user": [['""', '"gateway@example.com"'], [`"${"x".repeat(257)}"`, "5"]],
  "mail.password": SECRET,
  "mail.ca": [['""'], ['"/nowhere/ca.pem"', "5"]],
  "mail.from": [['""', '"no-reply@example.com"', '"Countersign <no-reply@example.com>"'], [
    '"no-reply"',
    '"a@example.com, b@example.com"',
    '"A <a@example.com> <b@example.com>"',
    '"A\\nBcc: x@example.com <a@example.com>"',
    "5",
  ]],
  "mail.reply_to": [['""', '"Help desk <help@example.com>"'], ['"help"', "5"]],
  "mail.language": [['"en"', '"de"'], ['"fr"', "5"]],
  "mail.per_minute": window(1, 60_000),
  "mail.timeout_ms": window(1000, 300_000),
  "geoip.database": [['""', '"./country.mmdb"', '"/var/lib/geoip/country.mmdb"'], ["5", "true"]],
  "geoip.asn_database": [['""', '"/var/lib/geoip/asn.mmdb"'], ["5"]],
  "console.session_hours": window(1, 720),
  "console.idle_minutes": window(1, 1440),
  "console.second_factor": [['"offered"', '"required"'], ['"off"', "true"]],
  "console.audit_days": window(1, 3650),
  "console.oidc.issuer": [['""', '"https://id.example.org/realm"', '"http://localhost:9"'], [
    '"id.example.org"',
    '"http://id.example.org"',
    "5",
  ]],
  "console.oidc.name": [['""', '"Example"'], [`"${"x".repeat(65)}"`, "5"]],
  "console.oidc.client_id": [['""', '"abc"'], ["5"]],
  "console.oidc.client_secret": SECRET,
  "console.oidc.scopes": [['"openid"', '"openid groups"'], ['""', "5"]],
  "console.oidc.role_claim": [['"roles"'], ['""', "5"]],
  "console.oidc.owners": NAMES,
  "console.oidc.user_managers": NAMES,
  "console.oidc.operators": NAMES,
  "console.oidc.help_desk": NAMES,
  "console.oidc.viewers": NAMES,
};

export const POLICY_SAMPLES: Samples = {
  "message_authenticator": [['"require"', '"auto"', '"off"'], ['"on"', "true"]],
  "limit_proxy_state": SWITCH,
  "first_factor": [['"none"', '"directory"', '"ldap"', '"radius"'], ['"pam"', "true"]],
  "first_factor_backend": [['""', '"corp-ldap"'], [`"${"x".repeat(65)}"`, "5"]],
  "first_factor_server.address": [
    ['"192.0.2.20:1812"', '""', "[]", '["[2001:db8::1]:1812", "192.0.2.20:1812"]'],
    [
      ...['"host:1812"', '"192.0.2.20:0"', "5", '["192.0.2.20:1812", "192.0.2.20:1812"]', '["192.0.2.20"]'],
      `[${Array.from({ length: 9 }, (_, at) => `"192.0.2.${at}:1812"`)}]`,
    ],
  ],
  "first_factor_server.secret": SECRET,
  "first_factor_server.timeout_ms": CALL_MS,
  "first_factor_server.message_authenticator": [['"require"', '"auto"'], ['"off"', "true"]],
  "eap": [['"auto"', '"relay"', '"gtc"', '"refuse"'], ['"peap"', "true"]],
  "eap_outer_identity": [['"refuse"', '"reply"', '"trust"'], ['"inner"', "false"]],
  "mode": [['"enforce"', '"shadow"'], ['"observe"', "true"]],
  "device": [['"challenge"', '"hold"', '"hold_then_challenge"'], ['"wait"']],
  "hold_s": window(1, 300),
  "append_mode": SWITCH,
  "append_separator": [['","', '":"', '"#"'], ['""', '",,"', '"-"', '" "', '"a"', '"1"', "5"]],
  "code_position": [['"separated"', '"behind"', '"front"'], ['"before"', "true"]],
  "unknown_users": [['"auto"', '"allow"', '"reject"'], ["false", '"menu"']],
  "strip_domains": [["[]", '["CORP", "corp.example"]'], [
    '"CORP"',
    '[""]',
    '["CORP\\\\"]',
    '["a b"]',
    '["a@b"]',
  ]],
  "reply_from_first_factor": [[
    '["all"]',
    '"all"',
    '"none"',
    '["none"]',
    "[]",
    '["Class", "cisco-avpair", "26.9.1"]',
  ], [
    "true",
    '["all", "Class"]',
    '["none", "Class"]',
    '["No-Such-Attribute"]',
    '["State"]',
    '["Message-Authenticator"]',
    '["26.9"]',
    '""',
  ]],
  "strip_realms": [["[]", '["corp.example"]'], [
    '"corp.example"',
    '["@corp.example"]',
    '["CORP\\\\"]',
    '["a b"]',
  ]],
  "health_check_users": [["[]", '["probe", "CORP\\\\probe", "probe@corp.example"]'], [
    '"probe"',
    '[""]',
    '["a b"]',
    '["a,b"]',
  ]],
};

export const CLIENT_SAMPLES: Samples = {
  "name": [['"vpn"'], ['""', `"${"x".repeat(65)}"`]],
  "address": [['["10.0.0.0/8", "2001:db8::/32", "::ffff:192.0.2.1"]'], [
    "[]",
    '["10.0.0.0/33"]',
    '["vpn.example.com"]',
  ]],
  "secret": [['"0123456789abcdef"'], ['""', "5"]],
  "nas_identifier": [['""', '"ap-1"'], ["5"]],
  "tls.san": [
    [
      '""',
      '"nas.example.org"',
      '"*.aps.example.org"',
      '"192.0.2.7"',
      '"IP:2001:db8::1"',
      '"URI:urn:x"',
      '"email:a@b"',
    ],
    ['"a b"', '"*"', '"a.*.b"', '"10.0.0"', '"URI:"', "5"],
  ],
  "tls.fingerprint": [['""', `"${"aB:".repeat(31)}0c"`, `"${"0".repeat(64)}"`], [
    '"ab"',
    `"${"0".repeat(63)}g"`,
  ]],
  "tls.disconnect": SWITCH,
  "disconnect_port": window(0, 65_535),
  "disconnect_secret": SECRET,
  "nas_ip_address": [['""', '"192.0.2.1"', '"::1"'], ['"192.0.2.0/24"', '"01.2.3.4"']],
  ...POLICY_SAMPLES,
};

export const ADMIN_SAMPLES: Samples = {
  "name": [['"ann"'], ['""']],
  "password": [['"twelve chars"'], ['""', '"eleven char"', "123456789012"]],
  "role": [['"owner"', '"user_manager"', '"operator"', '"viewer"'], ['"root"']],
};

export const TARGET_SAMPLES: Samples = {
  "page_size": window(1, 1000),
  "max_drop_percent": window(1, 100),
  "extensions": [['""', '"badge.json"', '"[]"', "'{}'", '" [\\n]"'], [
    '"none.json"',
    '"a\\nb"',
    `"${"x".repeat(1025)}"`,
    `"[${" ".repeat(23_999)}]"`,
    "[]",
    "5",
  ]],
};

const MODE = [['"sync"', '"async"'], ['"later"', "true"]] as const;
const ACCESS = [['"read"', '"write"'], ['"none"', "true"]] as const;
const DN = [['"ou=people,dc=example,dc=org"', '"cn=a"'], ['"people"', '"=x"', '"a\\nb=c"', "5"]] as const;

export const STORE_BACKEND_SAMPLES: Samples = {
  "kind": [['"store"'], ['""', '"file"', "5"]],
  "mode": [['"sync"'], ['"async"', '"later"']],
};

const READ_ONLY: Samples[string] = [
  [
    "[]",
    '["title", "emails[].value", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department"]',
  ],
  [
    '"title"',
    '["a b"]',
    '["userName"]',
    '["active"]',
    '["password"]',
    '["groups[].value"]',
    '["title", "title"]',
  ],
];

export const LDAP_BACKEND_SAMPLES: Samples = {
  "kind": [['"ldap"'], ['"LDAP"', '["ldap"]']],
  "access": ACCESS,
  "mode": MODE,
  "url": [[
    ...['"ldap://127.0.0.1:389"', '"ldaps://ldap.example.org"', '"LDAP://[::1]/"'],
    '["ldaps://dc1.example.org", "ldaps://dc2.example.org"]',
  ], [
    '["ldap://a", "ldap://a:389"]',
    '"ldap://a, ldap://b"',
    '""',
    '"ldap://"',
    '"ldap://a:0"',
    '"ldap://a/dc=x"',
    '"ldap://u@a"',
    '"http://a"',
    '"a:389"',
  ]],
  "start_tls": SWITCH,
  "ca_cert": [['""', '"ca.pem"'], ['"none.pem"', "5"]],
  "bind_dn": [DN[0], ['"admin"', "5"]],
  "bind_password": [['"s3cret"'], ["5", '["a"]']],
  "users_dn": [DN[0], ['""', ...DN[1]]],
  "groups_dn": [['""', ...DN[0]], DN[1]],
  "schema": [['"openldap"', '"active_directory"'], ['"ad"']],
  "user_filter": [[
    '""',
    '"(uid={name})"',
    '"(&(|(uid={account})(mail={name}))(!(employeeType=guest))(memberOf:1.2.840.113556.1.4.1941:=cn=vpn\\\\2c a))"',
  ], [
    ...['"uid={name}"', '"(uid={name}"', '"(uid={name}))"', '"(uid={name}*)"', '"(!(uid={name}))"', '"(&)"'],
    ...['"(uid:caseExactMatch:={name})"', '"(uid=\\\\zz{name})"', "5"],
  ]],
  "user_domains": [["[]", '["CORP", "corp.example"]'], ['"CORP"', '["a@b"]', '["a b"]']],
  "password_change": [["true", "false"], ['"yes"', "1"]],
  "connections": window(1, 50),
  "timeout_ms": CALL_MS,
  "read_only": READ_ONLY,
};

export const SCIM_BACKEND_SAMPLES: Samples = {
  "kind": [['"scim"'], ['"SCIM"']],
  "access": ACCESS,
  "mode": MODE,
  "url": [['"https://saas.example.com/scim/v2/"', '"http://127.0.0.1:9"'], ['""', '"saas"', '"https://u@a"']],
  "token": [['"s3cret"'], ["5", '""']],
  "user_name": [['""'], ["5", '"a\\nb"']],
  "password": [['""'], ["5", '["a"]']],
  "connections": window(1, 50),
  "timeout_ms": CALL_MS,
  "read_only": READ_ONLY,
};

export const CREDENTIAL_SAMPLES: Samples = {
  "name": [['"provisioner"', '"Ann Example"'], ['""', '"a:b"', `"${"x".repeat(129)}"`]],
  "password": [['"twelve chars"'], ['""', '"eleven char"', "123456789012"]],
  "targets": [['["default"]'], ["[]", '["nope"]', '["a b"]', '["default", "default"]', '"default"']],
  "access": [['"read"', '"write"'], ['"all"']],
};
