// Outside: whose link it is and a button, or the users of this phone, or the ways in. Looking uses nothing up.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { failureText } from "../../web/api_client.ts";
import { durationText } from "../../web/format.ts";
import { Note } from "../../web/parts/note.tsx";
import { Symbol } from "../../web/parts/symbol.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { MeLinkLook, MeSessionAnswer } from "../../api/account/account_types.ts";
import type { MeModels } from "../me_models.ts";
import { Heading } from "./heading.tsx";
import { LinkForm } from "./link_form.tsx";

interface DoorProps {
  readonly models: MeModels;
  readonly answer: MeSessionAnswer;
}

export function Door({ models, answer }: DoorProps) {
  const { session } = models;
  const link = session.link.value;
  if (!answer.available) {
    return (
      <div class="me-door">
        <Heading>{t("me.door_off")}</Heading>
        <p class="quiet">{t("me.door_off_next")}</p>
      </div>
    );
  }
  if (link !== "") return <LinkDoor key={link} models={models} link={link} isInside={answer.me !== null} />;
  return (
    <div class="me-door">
      {session.left.value && <Note tone="ok" icon="check" role="status">{t("me.signed_out")}</Note>}
      {answer.phoneUsers.length > 0
        ? <PhoneDoor models={models} users={answer.phoneUsers} />
        : <WaysIn models={models} />}
    </div>
  );
}

export function Unreached({ models, message }: { models: MeModels; message: string }) {
  return (
    <div class="me-door">
      <Heading>{t("me.door_unreached")}</Heading>
      <Note tone="bad" role="alert">{message}</Note>
      <button type="button" class="button" onClick={() => void models.session.load()}>
        {t("frame.try_again")}
      </button>
    </div>
  );
}

interface LinkDoorProps {
  readonly models: MeModels;
  readonly link: string;
  /** An account is open already; it is gone back to without the link. */
  readonly isInside: boolean;
}

function LinkDoor({ models, link, isInside }: LinkDoorProps) {
  const { session, calls, clock } = models;
  const seen = useSignal<MeLinkLook | null>(null);
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
    <div class="me-door">
      <Heading>{found === null ? t("me.title") : t("me.door_link_title", { user: found.userName })}</Heading>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {found === null && problem.value === null && <p role="status">{t("me.door_link_reading")}</p>}
      {found !== null && (
        <>
          <p class="quiet">
            {t("me.door_link_good", { left: durationText(found.deadlineMs - clock.nowMs.value) })}
          </p>
          <button
            type="button"
            class="button button-primary me-wide"
            disabled={busy.value}
            onClick={() => void open()}
          >
            {busy.value ? t("frame.working") : t("me.door_open")}
          </button>
          <p class="quiet small">{t("me.door_link_else")}</p>
        </>
      )}
      {(problem.value !== null || isInside) && (
        <button type="button" class="button me-wide" onClick={session.dropLink}>
          {t("me.door_without")}
        </button>
      )}
    </div>
  );
}

function PhoneDoor({ models, users }: { models: MeModels; users: readonly string[] }) {
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const open = async (userName: string) => {
    busy.value = true;
    problem.value = await models.session.openPhone(userName);
    busy.value = false;
  };
  return (
    <>
      <Heading>{t("me.door_phone_title")}</Heading>
      <p class="quiet">{t("me.door_phone_why")}</p>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {users.map((user, at) => (
        <button
          key={user}
          type="button"
          class={`button me-wide ${at === 0 ? "button-primary" : ""}`}
          disabled={busy.value}
          onClick={() => void open(user)}
        >
          <Symbol name="smartphone" />
          <span class="cut">{t("me.door_continue", { user })}</span>
        </button>
      ))}
    </>
  );
}

function WaysIn({ models }: { models: MeModels }) {
  return (
    <>
      <Heading>{t("me.door_ways_title")}</Heading>
      <p class="quiet">{t("me.door_ways_why")}</p>
      <section class="panel me-way" aria-labelledby="way-phone">
        <h2 id="way-phone">
          <Symbol name="smartphone" size={18} />
          {t("me.door_way_phone")}
        </h2>
        <p class="quiet">{t("me.door_way_phone_how")}</p>
      </section>
      <section class="panel me-way" aria-labelledby="way-link">
        <h2 id="way-link">
          <Symbol name="link" size={18} />
          {t("me.door_way_link")}
        </h2>
        <p class="quiet">{t("me.door_way_link_how")}</p>
        <LinkForm
          onLink={(token) => {
            models.session.bring(token);
            return Promise.resolve(null);
          }}
        />
      </section>
    </>
  );
}
