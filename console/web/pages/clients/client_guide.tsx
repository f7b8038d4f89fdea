// The setup guide of a client: the configuration of a VPN product to copy, filled in with the values of this server and client.

import { type Signal, useSignal } from "@preact/signals";
import {
  CLIENT_GUIDES,
  type ClientGuide,
  type ClientGuideId,
  DISCONNECT_GUIDES,
  fillGuide,
  GUIDE_REMARKS,
  type GuideValues,
  holdFor,
} from "../../../../platform/client_guides.ts";
import type { ConsoleSetting } from "../../../../platform/client_settings.ts";
import type { OneClient } from "../../../api/clients/client_types.ts";
import { Alert } from "../../components/alert.tsx";
import { CopyButton } from "../../components/button.tsx";
import { ReadOnlyField, SelectField, TextField } from "../../components/field.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { waitText } from "./client_fields.tsx";
import { type ClientDraft, settingLabel, settingText, toClientDraft } from "./client_form.ts";

const IDS = Object.keys(CLIENT_GUIDES) as ClientGuideId[];
/** Stands for the secret, which the console never shows again. */
const SECRET = "SHARED_SECRET";
const NAS_ADDRESS = "NAS_ADDRESS";

export function SetupGuide({ one }: { one: OneClient }) {
  const id = useSignal<ClientGuideId | "">("");
  const server = useSignal(one.server.host);
  const nas = useSignal(nasAddress(one));
  const options = [
    { value: "", label: t("clients.guide_choose") },
    ...IDS.map((value) => ({ value, label: CLIENT_GUIDES[value].product })),
  ];
  return (
    <Panel title={t("clients.guide")}>
      <div class="guide">
        <div class="people-fields">
          <SelectField
            id="guide-product"
            label={t("clients.guide_product")}
            options={options}
            value={id.value}
            onChoose={(value) => id.value = IDS.find((one) => one === value) ?? ""}
          />
          {id.value !== "" && (
            <>
              <TextField
                id="guide-server"
                label={t("clients.guide_server")}
                hint={t("clients.guide_server_hint")}
                text={server}
              />
              <TextField id="guide-nas" label={t("clients.guide_nas")} text={nas} />
            </>
          )}
        </div>
        {id.value !== "" && <GuideSteps one={one} id={id.value} server={server} nas={nas} />}
      </div>
    </Panel>
  );
}

/** The address of the client, unless it is a range. */
function nasAddress({ client: { address } }: OneClient): string {
  const single = address.map((one) => one.replace(/\/(?:32|128)$/, "")).find((one) => !one.includes("/"));
  return single ?? NAS_ADDRESS;
}

interface StepsProps {
  readonly one: OneClient;
  readonly id: ClientGuideId;
  readonly server: Signal<string>;
  readonly nas: Signal<string>;
}

function GuideSteps({ one, id, server, nas }: StepsProps) {
  const guide: ClientGuide = CLIENT_GUIDES[id];
  const { port, accountingPort, tlsPort } = one.server;
  const { holdMs } = one.client.effective;
  const values: GuideValues = {
    server: server.value.trim() || one.server.host,
    nas: nas.value.trim() || NAS_ADDRESS,
    // The NAS-Identifier, if the client must send a certain one.
    client: one.client.nasIdentifier || one.client.name,
    secret: SECRET,
    holdS: Math.ceil(holdMs / 1000),
    ...{ port, accountingPort, tlsPort },
  };
  const test = fillGuide(guide.test, values);
  return (
    <>
      {guide.testedWith === null
        ? <Alert tone="wait">{t("clients.guide_untested")}</Alert>
        : <p class="quiet small">{t("clients.guide_tested", { versions: guide.testedWith })}</p>}
      <Recommended one={one} guide={guide} />
      {guide.transport === undefined && <p>{t("clients.guide_secret", { placeholder: SECRET })}</p>}
      {guide.blocks.map(({ title, text }) => (
        <CodeBlock key={title} title={title} text={fillGuide(text, values)} />
      ))}
      <ul class="people-consequences">
        {GUIDE_REMARKS.map((at) => <li key={at}>{t(`clients.guide_${id}_${at}`)}</li>)}
      </ul>
      <Disconnects id={id} values={values} />
      <CodeBlock title={t("clients.guide_test")} text={test} />
      <p>
        {t("clients.guide_watch")}{" "}
        <a href={`/live?client=${encodeURIComponent(one.client.name)}`}>{t("shell.live")}</a>
      </p>
    </>
  );
}

/** How a session ends: by Disconnect-Requests, or by a command of an administrator. */
function Disconnects({ id, values }: { id: ClientGuideId; values: GuideValues }) {
  const { port, title, text } = DISCONNECT_GUIDES[id];
  return (
    <>
      <p>{port === null ? t("clients.guide_no_disconnect") : t("clients.guide_disconnect", { port })}</p>
      <CodeBlock title={title} text={fillGuide(text, values)} />
    </>
  );
}

/** A guide with EAP is relayed or asked in EAP-GTC, so `eap` decides, and not `device`. TLS protects each packet. */
const settingsOf = ({ eap, transport }: ClientGuide): readonly ConsoleSetting[] => [
  eap === undefined ? "device" : "eap",
  ...transport === "tls" ? [] : ["messageAuthenticator"] as const,
];

/** The recommended settings of the client, with a warning where the client has other ones. */
function Recommended({ one: { client }, guide }: { one: OneClient; guide: ClientGuide }) {
  const present = toClientDraft(client);
  const { device, messageAuthenticator, transport = "udp", maxWaitS } = guide;
  // "auto" relays if a RADIUS server checks the password.
  const eap = guide.eap === "relay" && present.eap === "auto" ? "auto" : guide.eap ?? present.eap;
  const wanted: ClientDraft = { ...present, device, eap, messageAuthenticator, transport };
  const names = settingsOf(guide);
  const differing = names.filter((name) => present[name] !== wanted[name]);
  return (
    <>
      <div class="people-fields">
        <ReadOnlyField label={t("clients.transport")}>{t(`clients.transport_${transport}`)}</ReadOnlyField>
        {names.map((name) => (
          <ReadOnlyField key={name} label={settingLabel(name)}>{settingText(wanted, name)}</ReadOnlyField>
        ))}
        <ReadOnlyField label={settingLabel("holdMs")}>
          {t("clients.seconds", { count: client.effective.holdMs / 1000 })}
        </ReadOnlyField>
      </div>
      <p>{waitText(client.effective.holdMs, transport)}</p>
      {maxWaitS !== undefined && client.effective.holdMs > holdFor(maxWaitS) * 1000 && (
        <Alert tone="wait">{t("clients.guide_waits", { wait: maxWaitS, hold: holdFor(maxWaitS) })}</Alert>
      )}
      {present.transport !== transport && (
        <Alert tone="wait">
          {t("clients.guide_differs", {
            setting: t("clients.transport"),
            wanted: t(`clients.transport_${transport}`),
            now: t(`clients.transport_${present.transport}`),
          })}
        </Alert>
      )}
      {differing.map((name) => (
        <Alert key={name} tone="wait">
          {t("clients.guide_differs", {
            setting: settingLabel(name),
            wanted: settingText(wanted, name) ?? "",
            now: settingText(present, name) ?? "",
          })}
        </Alert>
      ))}
    </>
  );
}

function CodeBlock({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <div class="guide-head">
        <h3 class="mono">{title}</h3>
        <CopyButton text={text} what={t("common.copy")} />
      </div>
      <pre class="mono" role="region" tabIndex={0} aria-label={title}>{text}</pre>
    </div>
  );
}
