"use strict";

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#page",
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  // The token stays in the memory of this page.
  persistAuthorization: false,
  // Otherwise the document's address would be sent to a validator elsewhere.
  validatorUrl: null,
});
