// Settings of the second-factor and the telephony service. Each row: a change, and what is observed before and after it.

import {
  authorizedPush,
  type LiveSettingRow,
  ofLastSend,
  openServices,
  pairDevice,
  pairSms,
  pairVoice,
  servicesOf,
} from "./live_settings.ts";

export const SERVICE_ROWS: Readonly<Record<string, LiveSettingRow>> = {
  "second_factor.url": {
    prepare: openServices,
    change: async (world) => ({
      "second_factor.url": (await servicesOf(world)).secondFactor.url,
      "second_factor.consumer_key": (await servicesOf(world)).secondFactor.consumerKey,
      "second_factor.consumer_secret": (await servicesOf(world)).secondFactor.consumerSecret,
    }),
    observe: async (world) => {
      const other = (await servicesOf(world)).secondFactor;
      await world.login({ user: "anna" }).start();
      return other.requests.length > 0;
    },
    before: false,
    after: true,
  },
  "second_factor.consumer_key": {
    prepare: pairDevice,
    change: { "second_factor.consumer_key": "another-key" },
    observe: authorizedPush,
    before: true,
    after: false,
  },
  "second_factor.consumer_secret": {
    prepare: pairDevice,
    change: { "second_factor.consumer_secret": "another-secret" },
    observe: authorizedPush,
    before: true,
    after: false,
  },
  "telephony.url": {
    prepare: (world) => Promise.all([servicesOf(world), pairSms(world)]),
    change: async (world) => ({
      "telephony.url": (await servicesOf(world)).telephony.url,
      "telephony.auth_token": (await servicesOf(world)).telephony.authToken,
    }),
    observe: async (world) => {
      const other = (await servicesOf(world)).telephony;
      await world.login({ user: "anna" }).start();
      return other.requests.length > 0;
    },
    before: false,
    after: true,
  },
  "telephony.account_id": {
    prepare: pairSms,
    change: { "telephony.account_id": "AC-other" },
    observe: (world) => ofLastSend(world, ({ target }) => target.includes("AC-other")),
    before: false,
    after: true,
  },
  "telephony.auth_token": {
    prepare: pairSms,
    change: { "telephony.auth_token": "another token" },
    observe: (world) => ofLastSend(world, ({ authorized }) => authorized),
    before: true,
    after: false,
  },
  "telephony.from": {
    prepare: pairSms,
    change: { "telephony.from": "+15550001111" },
    observe: (world) => ofLastSend(world, ({ form }) => form.get("From") === "+15550001111"),
    before: false,
    after: true,
  },
  "telephony.twiml_echo_url": {
    prepare: pairVoice,
    change: { "telephony.twiml_echo_url": "" },
    observe: (world) => ofLastSend(world, ({ form }) => form.has("Url")),
    before: true,
    after: false,
  },
};
