// The dialogs of the help desk: a bypass code, everything for a lost phone, and the verification of a caller.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { CallerVerification } from "../../../../upstream/embedded/second_factor/interfaces.ts";
import type {
  IssuedBypass,
  LostPhoneResult,
  StartedVerification,
} from "../../../api/help_desk/help_desk_types.ts";
import type { UserLoginView } from "../../../api/users/user_types.ts";
import { fullTimeText } from "../../app/format.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button, CopyButton } from "../../components/button.tsx";
import { Checkbox, SelectField } from "../../components/field.tsx";
import { type CreatedSecret, FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { QrCode } from "../../components/qr_code.tsx";
import { Expiry, TimeLeft } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { useAction } from "../../app/action.ts";
import { useInterval } from "../../app/resource.ts";
import { Dialog } from "../../components/dialog.tsx";
import type { FactorPart } from "./user_page_model.ts";
import { calledOf, VerifiedCaller } from "./user_summary.tsx";

type DialogPart = FactorPart & { readonly onClose: () => void };

/** `uses` 0: any number until the code expires. */
interface BypassDraft {
  readonly uses: number;
  readonly minutes: number;
  readonly reason: string;
}

const ANY = 0;
const USES = [1, 2, 3, 5, 10, 20, 50];
const MINUTES = [15, 60, 240, 480, 1440];
const DEFAULT_MINUTES = 60;

export function BypassDialog({ models, user, calls, page, login, onClose }: DialogPart) {
  const draft = useSignal(newDraft(login));
  const { name } = user;
  const title = t("users.bypass_title", { name });
  const issue = async (): Promise<CreatedSecret> => {
    const issued = await calls.issueBypass(bodyOf(draft.value));
    page.put(issued.user);
    page.said(t("users.bypass_issued", { name }));
    return {
      title,
      label: t("common.bypass_code"),
      secret: issued.code,
      isSpoken: true,
      children: <BypassTerms {...{ models, issued }} />,
    };
  };
  return (
    <FormDialog
      title={title}
      submitLabel={t("users.bypass_issue")}
      failureTitle={t("users.bypass_not_issued")}
      onSubmit={issue}
      onClose={onClose}
    >
      <VerifiedCaller {...{ models, login }} />
      <p>{t("users.bypass_what", { name })}</p>
      <BypassFields draft={draft} login={login} />
      <ReasonField draft={draft} />
    </FormDialog>
  );
}

function newDraft({ bypassLimits: { maxMinutes } }: UserLoginView): BypassDraft {
  return { uses: 1, minutes: Math.min(DEFAULT_MINUTES, maxMinutes), reason: "" };
}

function bodyOf({ uses, minutes, reason }: BypassDraft) {
  return { uses: uses === ANY ? null : uses, minutes, reason };
}

interface FieldsProps {
  readonly draft: Signal<BypassDraft>;
}

/** The choices that the settings allow. */
function BypassFields(
  { draft, login: { bypass, bypassLimits, lock } }: FieldsProps & { readonly login: UserLoginView },
) {
  const { maxUses, anyUses, maxMinutes } = bypassLimits;
  const uses = [...new Set([...USES.filter((count) => count <= maxUses), maxUses])].sort((a, b) => a - b);
  const minutes = [...new Set([...MINUTES.filter((count) => count <= maxMinutes), maxMinutes])];
  const rows: readonly FieldRow<BypassDraft>[] = [
    {
      name: "uses",
      label: "users.bypass_uses",
      choices: anyUses ? [...uses, ANY] : uses,
      choiceLabel: (count) =>
        count === ANY ? t("common.any_number_of_sign_ins") : t("common.sign_in_count", { count }),
    },
    {
      name: "minutes",
      label: "users.bypass_time",
      choices: minutes.sort((a, b) => a - b),
      choiceLabel: (count) =>
        count % 60 === 0 ? t("common.hours", { count: count / 60 }) : t("users.bypass_minutes", { count }),
    },
  ];
  return (
    <>
      {bypass !== null && <Alert tone="wait">{t("users.bypass_replaces")}</Alert>}
      {lock.locked && <Alert tone="wait">{t("users.bypass_locked")}</Alert>}
      <FormFields prefix="bypass" draft={draft} rows={rows} />
    </>
  );
}

const REASON_ROWS: readonly FieldRow<BypassDraft>[] = [{
  name: "reason",
  label: "users.help_reason",
  hint: "users.help_reason_hint",
  input: { maxLength: 200 },
}];

function ReasonField({ draft }: FieldsProps) {
  return <FormFields prefix="help" draft={draft} rows={REASON_ROWS} />;
}

/** How long the code is valid, and what to tell the caller. */
function BypassTerms({ models, issued }: { models: FactorPart["models"]; issued: IssuedBypass }) {
  const { bypass: { uses, expiresMs }, mailedTo } = issued;
  return (
    <>
      <p>{uses === null ? t("common.any_number_of_sign_ins") : t("common.sign_ins_left", { count: uses })}</p>
      <p>{t("users.bypass_say")}</p>
      {mailedTo !== null && <p class="quiet small">{t("users.bypass_mailed", { address: mailedTo })}</p>}
      <Expiry models={models} atMs={expiresMs} />
    </>
  );
}

export function LostPhoneDialog({ models, user, calls, page, login, onClose }: DialogPart) {
  const phones = login.pairings.filter(({ kind }) => kind === "device");
  const draft = useSignal(newDraft(login));
  const chosen = useSignal<readonly string[]>(phones.map(({ id }) => id));
  const wantsBypass = useSignal(true);
  const wantsMail = useSignal(false);
  const { name } = user;
  const title = t("users.lost_title", { name });
  const submit = async (): Promise<CreatedSecret | void> => {
    const { uses, minutes, reason } = bodyOf(draft.value);
    const bypass = wantsBypass.value ? { uses, minutes } : null;
    const link = wantsMail.value ? "mail" : "show";
    const done = await calls.lostPhone({ phones: [...chosen.value], bypass, link, reason });
    page.put(done.user);
    page.said(
      done.mailedTo === null
        ? t("users.lost_done", { name })
        : t("users.lost_mailed", { name, address: done.mailedTo }),
    );
    return secretOf(models, title, done);
  };
  return (
    <FormDialog
      wide
      title={title}
      submitLabel={t("users.lost_submit")}
      failureTitle={t("users.lost_failed")}
      reason={phones.length > 0 && chosen.value.length === 0 ? t("users.lost_select") : undefined}
      onSubmit={submit}
      onClose={onClose}
    >
      <VerifiedCaller {...{ models, login }} />
      <p>{t(login.canInvite ? "users.lost_what" : "users.lost_what_external", { name })}</p>
      {phones.length === 0 ? <p class="quiet">{t("users.lost_no_phone")}</p> : (
        <fieldset class="multi">
          <legend>{t("users.lost_phones")}</legend>
          {phones.map((phone) => (
            <Checkbox
              key={phone.id}
              label={calledOf(phone)}
              hint={t("users.lost_since", { time: fullTimeText(phone.createdMs) })}
              checked={chosen.value.includes(phone.id)}
              onChange={(isChosen) =>
                chosen.value = phones.map(({ id }) => id).filter((id) =>
                  id === phone.id ? isChosen : chosen.value.includes(id)
                )}
            />
          ))}
        </fieldset>
      )}
      <Checkbox
        label={t("users.lost_bypass")}
        hint={t("users.lost_bypass_hint")}
        checked={wantsBypass.value}
        onChange={(checked) => wantsBypass.value = checked}
      />
      {wantsBypass.value && <BypassFields draft={draft} login={login} />}
      {login.canInvite && (
        <Checkbox
          label={t("users.lost_mail")}
          hint={t("users.lost_mail_hint")}
          reason={hasAddress(user) ? undefined : t("users.lost_no_address")}
          checked={wantsMail.value}
          onChange={(checked) => wantsMail.value = checked}
        />
      )}
      <ReasonField draft={draft} />
    </FormDialog>
  );
}

function hasAddress({ record }: FactorPart["user"]): boolean {
  const emails = record?.attributes["emails"];
  return Array.isArray(emails) && emails.length > 0;
}

/** The code and the link, which are shown once. */
function secretOf(
  models: FactorPart["models"],
  title: string,
  { bypass, invitation }: LostPhoneResult,
): CreatedSecret | undefined {
  const link = invitation === null
    ? null
    : <InvitationLink {...{ models, invitation }} isSecret={bypass === null} />;
  if (bypass !== null) {
    return {
      title,
      label: t("common.bypass_code"),
      secret: bypass.code,
      isSpoken: true,
      wide: true,
      children: [<BypassTerms key="terms" models={models} issued={bypass} />, link],
    };
  }
  if (invitation === null) return undefined;
  return { title, label: t("users.lost_link"), secret: invitation.link, wide: true, children: link };
}

interface LinkProps {
  readonly models: FactorPart["models"];
  readonly invitation: NonNullable<LostPhoneResult["invitation"]>;
  /** The link is shown as the secret of the dialog already. */
  readonly isSecret: boolean;
}

function InvitationLink({ models, invitation: { link, qr, deadlineMs }, isSecret }: LinkProps) {
  return (
    <section class="people-secret" aria-label={t("users.lost_link")}>
      <h3>{t("users.lost_link")}</h3>
      <QrCode picture={qr} label={t("common.pairing_qr")} />
      {!isSecret && <p class="mono small">{link}</p>}
      {!isSecret && <CopyButton text={link} what={t("common.copy_link")} />}
      <Expiry models={models} atMs={deadlineMs} />
    </section>
  );
}

// The dialog that verifies a caller: it sends a question to the user's phone, shows the number to read out, and shows the result when it is known.

const POLL_INTERVAL_MS = 1000;

type State = CallerVerification["state"];

export function VerifyCallerDialog({ models, user, calls, page, login, onClose }: DialogPart) {
  const phones = login.pairings.filter(({ kind }) => kind === "device");
  const phone = useSignal(phones[0]?.id ?? "");
  const started = useSignal<StartedVerification | null>(null);
  const state = useSignal<State>("waiting");
  const action = useAction();
  const { busy, fault, run } = action;
  const isWaiting = started.value !== null && state.value === "waiting";
  const take = ({ nowMs, verification }: Pick<StartedVerification, "nowMs" | "verification">) => {
    models.clock.adjust(nowMs);
    // A late answer about an earlier question.
    if (started.peek()?.verification.id !== verification.id) return;
    state.value = verification.state;
    const { state: result, askedBy: by, endedMs, shownUntilMs: untilMs } = verification;
    if (result === "verified" && endedMs !== null) {
      page.put({ ...user, login: { ...login, verified: { by, atMs: endedMs, untilMs } } });
    }
  };
  const send = () =>
    run(async () => {
      started.value = null;
      const next = await calls.verifyCaller(phone.value);
      started.value = next;
      take(next);
    });
  useInterval(POLL_INTERVAL_MS, async () => {
    const id = started.peek()?.verification.id;
    if (id !== undefined && state.peek() === "waiting") {
      await calls.verification(id).then(take, () => undefined);
    }
  });
  useCancelOnClose(() => {
    const id = started.peek()?.verification.id;
    if (id !== undefined && state.peek() === "waiting") {
      void calls.cancelVerification(id).catch(() => undefined);
    }
  });
  const name = user.name;
  return (
    <Dialog
      title={t("users.verify_title", { name })}
      onClose={onClose}
      action={action}
      footer={
        <>
          <Button onClick={onClose}>{t(isWaiting ? "common.cancel" : "common.close")}</Button>
          {!isWaiting && (
            <Button kind="primary" busy={busy.value} onClick={() => void send()}>
              {t(started.value === null ? "users.verify_send" : "users.verify_again")}
            </Button>
          )}
        </>
      }
    >
      <ErrorAlert of={fault} title={t("users.verify_failed")} />
      {started.value === null && (
        <>
          <p>{t("users.verify_what", { name })}</p>
          {phones.length > 1 && (
            <SelectField
              id="verify-phone"
              label={t("common.phone")}
              options={phones.map((one) => ({ value: one.id, label: calledOf(one) }))}
              value={phone.value}
              onChoose={(id) => phone.value = id}
            />
          )}
        </>
      )}
      {started.value !== null && isWaiting && <NumberToRead models={models} started={started.value} />}
      <div role="status">
        {started.value !== null && <Result state={state.value} name={name} />}
      </div>
    </Dialog>
  );
}

/** A question whose dialog is closed must not stay on the phone. */
function useCancelOnClose(cancel: () => void): void {
  const newest = useRef(cancel);
  newest.current = cancel;
  useEffect(() => () => newest.current(), []);
}

function NumberToRead({ models, started: { number, verification } }: {
  models: FactorPart["models"];
  started: StartedVerification;
}) {
  return (
    <div class="verify-number">
      <p>{t("users.verify_read")}</p>
      <p class="mono verify-digits">{[...number].join(" ")}</p>
      <TimeLeft
        startMs={verification.createdMs}
        deadlineMs={verification.deadlineMs}
        nowMs={models.clock.nowMs.value}
        label={t("common.time_left")}
      />
    </div>
  );
}

const TONES = {
  waiting: "idle",
  verified: "ok",
  wrong_number: "bad",
  denied: "bad",
  not_me: "bad",
  expired: "wait",
  cancelled: "wait",
} as const satisfies Record<State, string>;

function Result({ state, name }: { state: State; name: string }) {
  return (
    <Alert tone={TONES[state]} icon={state === "verified" ? "check" : undefined}>
      <strong>{t(`users.verify_state_${state}`)}</strong>
      <p>{t(`users.verify_next_${state}`, { name })}</p>
    </Alert>
  );
}
