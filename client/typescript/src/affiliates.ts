/** Affiliates: list, create one, create many. */

import { Refusal, type Schemas, type Service } from "./service.js";

export type Affiliate = Schemas["Affiliate"];
export type NewAffiliate = Schemas["AffiliateCreate"];

/** What became of one affiliate of a batch. */
export type Outcome =
  | { kind: "created"; id: number }
  | { kind: "exists" }
  | { kind: "invalid country"; message: string };

/** Every affiliate of the company. */
export async function listAffiliates(service: Service): Promise<Affiliate[]> {
  const { data, error, response } = await service.GET("/api/affiliates");
  if (data === undefined) {
    throw new Refusal(response, error);
  }
  return data.data;
}

/** Creates an affiliate, and returns its ID. A name that exists is a refusal of the code 1023. */
export async function createAffiliate(service: Service, affiliate: NewAffiliate): Promise<number> {
  const { data, error, response } = await service.POST("/api/affiliates", { body: affiliate });
  if (data === undefined) {
    throw new Refusal(response, error);
  }
  if (Array.isArray(data)) {
    throw new TypeError("one affiliate has one result");
  }
  return data.detail.affiliate_id;
}

/**
 * Creates affiliates, and returns what became of each: names that exist and countries that do not fail alone (the status is 207).
 * Any other violation refuses all of them (422), with messages by path such as `affiliates.3.email_one`.
 */
export async function createAffiliates(service: Service, affiliates: Schemas["AffiliateCreateItem"][]): Promise<Outcome[]> {
  const { data, error, response } = await service.POST("/api/affiliates", { body: { affiliates } });
  if (data === undefined) {
    throw new Refusal(response, error);
  }
  if (!Array.isArray(data)) {
    throw new TypeError("a batch has a list of results");
  }
  return data.map(outcome);
}

function outcome(result: Schemas["AffiliateCreated" | "AffiliateDuplicate" | "AffiliateInvalidCountry"]): Outcome {
  switch (result.code) {
    case "1020":
      return { kind: "created", id: result.detail.affiliate_id };
    case "1023":
      return { kind: "exists" };
    case "1024":
      return { kind: "invalid country", message: result.detail.msg };
  }
}
