// Sign-in to the account page: by a link, by a paired phone, or again after the session ended.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Action, canClose, useAction } from "../../web/app/action.ts";
import { failureText } from "../../web/app/api_client.ts";
import { durationText } from "../../web/app/format.ts";
import { Alert } from "../../web/components/alert.tsx";
import { Icon } from "../../web/components/icons.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { AccountInfo, AccountLinkInfo, AccountSessionAnswer } from "../../api/account/account_types.ts";
import { type AccountModels, parseLinkToken } from "../account_models.ts";
import { Heading } from "./section.tsx";
import { Field } from "../../web/components/field.tsx";
import { Dialog } from "../../web/components/dialog.tsx";

interface SignInProps {
  readonly models: AccountModels;
  readonly answer: AccountSessionAnswer;
}

export function AccountSignIn({ models, answer }: SignInProps) {
  const { session } = models;
  const link = session.link.value;
  if (!answer.available) {
    return (
      <div class="me-sign-in">
        <Heading>{t("account.sign_in_off")}</Heading>
        <p class="quiet">{t("account.sign_in_off_next")}</p>
      </div>
    );
  }
  if (link !== "") return <LinkSignIn key={link} models={models} link={link} isInside={answer.me !== null} />;
  return (
    <div class="me-sign-in">
      {session.hasSignedOut.value && (
        <Alert tone="ok" icon="check" role="status">{t("account.signed_out")}</Alert>
      )}
      {answer.phoneUsers.length > 0
        ? <PhoneSignIn models={models} users={answer.phoneUsers} />
        : <SignInMethods models={models} />}
    </div>
  );
}

export function SignInUnavailable({ models, message }: { models: AccountModels; message: string }) {
  return (
    <div class="me-sign-in">
      <Heading>{t("account.sign_in_unreached")}</Heading>
      <Alert tone="bad" role="alert">{message}</Alert>
      <button type="button" class="button" onClick={() => void models.session.load()}>
        {t("common.try_again")}
      </button>
    </div>
  );
}

interface LinkSignInProps {
  readonly models: AccountModels;
  readonly link: string;
  /** An account is open already. The user can return to it without the link. */
  readonly isInside: boolean;
}

function LinkSignIn({ models, link, isInside }: LinkSignInProps) {
  const { session, calls, clock } = models;
  const seen = useSignal<AccountLinkInfo | null>(null);
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  useEffect(() => {
    calls.look(link).then(
      (value) => seen.value = value,
      (fault: unknown) => problem.value = failureText(fault),
    );
  }, [link]);
  const open = async () => {
    busy.value = true;
    problem.value = await session.openLink(link);
    busy.value = false;
  };
  const found = seen.value;
  return (
    <div class="me-sign-in">
      <Heading>
        {found === null ? t("account.title") : t("account.sign_in_link_title", { user: found.userName })}
      </Heading>
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      {found === null && problem.value === null && <p role="status">{t("account.sign_in_link_reading")}</p>}
      {found !== null && (
        <>
          <p class="quiet">
            {t("account.sign_in_link_good", { left: durationText(found.deadlineMs - clock.nowMs.value) })}
          </p>
          <button
            type="button"
            class="button button-primary me-wide"
            disabled={busy.value}
            onClick={() => void open()}
          >
            {busy.value ? t("common.working") : t("account.sign_in_open")}
          </button>
          <p class="quiet small">{t("account.sign_in_link_else")}</p>
        </>
      )}
      {(problem.value !== null || isInside) && (
        <button type="button" class="button me-wide" onClick={session.clearLink}>
          {t("account.sign_in_without")}
        </button>
      )}
    </div>
  );
}

function PhoneSignIn({ models, users }: { models: AccountModels; users: readonly string[] }) {
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const open = async (userName: string) => {
    busy.value = true;
    problem.value = await models.session.openPhone(userName);
    busy.value = false;
  };
  return (
    <>
      <Heading>{t("account.title")}</Heading>
      <p class="quiet">{t("account.sign_in_phone_why")}</p>
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      {users.map((user, at) => (
        <button
          key={user}
          type="button"
          class={`button me-wide ${at === 0 ? "button-primary" : ""}`}
          disabled={busy.value}
          onClick={() => void open(user)}
        >
          <Icon name="smartphone" />
          <span class="cut">{t("account.sign_in_continue", { user })}</span>
        </button>
      ))}
    </>
  );
}

function SignInMethods({ models }: { models: AccountModels }) {
  return (
    <>
      <Heading>{t("account.title")}</Heading>
      <p class="quiet">{t("account.sign_in_ways_why")}</p>
      <section class="panel me-method" aria-labelledby="way-phone">
        <h2 id="way-phone">
          <Icon name="smartphone" size={18} />
          {t("account.sign_in_way_phone")}
        </h2>
        <p class="quiet">{t("account.sign_in_way_phone_how")}</p>
      </section>
      <section class="panel me-method" aria-labelledby="way-link">
        <h2 id="way-link">
          <Icon name="link" size={18} />
          {t("account.sign_in_way_link")}
        </h2>
        <p class="quiet">{t("account.sign_in_way_link_how")}</p>
        <LinkForm
          onLink={(token) => {
            models.session.setLink(token);
            return Promise.resolve(null);
          }}
        />
      </section>
    </>
  );
}

interface LinkFormProps {
  /** Receives the token of the link. Resolves to `null` or to the error message. */
  readonly onLink: (token: string) => Promise<string | null>;
  /** The action of the dialog around the form. */
  readonly action?: Action;
}

function LinkForm({ onLink, action }: LinkFormProps) {
  const problem = useSignal<string | null>(null);
  const own = useAction();
  const { busy, run } = action ?? own;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const token = parseLinkToken(String(new FormData(event.currentTarget).get("link") ?? ""));
    if (token === null) {
      problem.value = t("account.sign_in_link_bad");
      return;
    }
    void run(async () => problem.value = await onLink(token));
  };
  return (
    <form class="me-form" onSubmit={submit}>
      <Field
        id="me-link"
        label={t("account.sign_in_link_field")}
        problem={problem.value}
        input={{ name: "link", required: true, autocomplete: "off", spellcheck: false, maxLength: 2048 }}
      />
      <button type="submit" class="button" disabled={busy.value}>
        {busy.value ? t("common.working") : t("account.sign_in_link_use")}
      </button>
    </form>
  );
}

const ANNOUNCED_MS = 120_000;

interface SessionProps {
  readonly models: AccountModels;
  readonly me: AccountInfo;
}

export function SessionEndWarning({ models }: Pick<SessionProps, "models">) {
  const { session, clock } = models;
  const isLast = useSignal(false);
  // A boolean, so that the component does not render every second.
  const soon = useComputed(() => {
    const state = session.state.value;
    const end = state.kind === "ready" ? state.value.me?.endsMs ?? Infinity : Infinity;
    return end - clock.nowMs.value <= ANNOUNCED_MS && !session.isInterrupted.value;
  });
  if (!soon.value) return null;
  const stay = async () => {
    isLast.value = !await session.extend();
  };
  return (
    <div class="me-ending">
      <Alert tone="wait" role="status">
        <span>{t("common.session_ends")} {isLast.value && t("account.ends_at_last")}</span>
        {!isLast.value && (
          <button type="button" class="button" onClick={() => void stay()}>
            {t("common.stay_signed_in")}
          </button>
        )}
      </Alert>
    </div>
  );
}

export function SignInAgain({ models, me }: SessionProps) {
  const { session } = models;
  const problem = useSignal<string | null>(null);
  const action = useAction();
  const state = session.state.value;
  const isPhone = state.kind === "ready" && state.value.phoneUsers.includes(me.userName);
  const again = () => action.run(async () => problem.value = await session.openPhone(me.userName));
  return (
    <Dialog
      title={t("account.again_title")}
      onClose={session.cancelSignIn}
      action={action}
      footer={
        <button
          type="button"
          class="button"
          disabled={!canClose(action)}
          onClick={session.cancelSignIn}
        >
          {t("account.again_leave")}
        </button>
      }
    >
      <p>{t("account.again_why")}</p>
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      {isPhone && (
        <button
          type="button"
          class="button button-primary me-wide"
          autofocus
          disabled={action.busy.value}
          onClick={() => void again()}
        >
          <Icon name="smartphone" />
          <span class="cut">{t("account.sign_in_continue", { user: me.userName })}</span>
        </button>
      )}
      <p class="quiet">{t("account.again_link")}</p>
      <LinkForm onLink={session.openLink} action={action} />
    </Dialog>
  );
}
