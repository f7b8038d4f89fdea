// The settings of a RADIUS client, as the body of POST and PUT /console/api/clients.

/** @example { ...CLIENT_RULES, name: "vpn-1", device: "hold" } */
export const CLIENT_RULES = {
  address: ["198.51.100.9"],
  nasIdentifier: "",
  disabled: false,
  messageAuthenticator: "auto",
  firstFactor: "settings",
  firstFactorBackend: "",
  firstFactorServer: null,
  device: "challenge",
  appendMode: false,
  unknownUsers: "allow",
};
