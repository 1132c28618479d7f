// Visits the console in a headless Chromium: every view, every error message, and records with markup. Each view must pass axe
// at two widths, and fit into 320 pixels. The console must not load anything from other origins.
"use strict";

const assert = require("node:assert/strict");
const { withPage } = require("./browser.cjs");
const { base, limited, coreless, WIDE } = require("./console/common.cjs");

// The browser reports expected error responses as failed loads.
const EXPECTED = /status of (401|403|404|409|412|415|422|429|500|503)|ERR_INTERNET_DISCONNECTED/;
// In this order, because later steps use records from earlier steps.
const STEPS = {
  ...require("./console/sign-in.cjs"),
  ...require("./console/overview.cjs"),
  ...require("./console/affiliates.cjs"),
  ...require("./console/lists.cjs"),
  ...require("./console/adding.cjs"),
  ...require("./console/files.cjs"),
  ...require("./console/records.cjs"),
  ...require("./console/work.cjs"),
  ...require("./console/desk.cjs"),
  ...require("./console/together.cjs"),
  ...require("./console/interrupted.cjs"),
  ...require("./console/exports.cjs"),
  ...require("./console/sessions.cjs"),
  ...require("./console/rejections.cjs"),
};

async function check(page, problems, context) {
  page.on("dialog", (dialog) => dialog.message() === "1" && problems.push("a record ran a script"));
  for (const [name, step] of Object.entries(STEPS)) {
    await step(page, context, problems).catch((error) => {
      throw new Error(name, { cause: error });
    });
    assert.deepEqual(problems, [], name);
  }
  console.log(`the console: ${Object.keys(STEPS).length} walkthroughs passed, without axe violations`);
}

withPage({ origins: [base, limited, coreless], expected: EXPECTED, viewport: WIDE, timezoneId: "Asia/Kolkata" }, check).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
