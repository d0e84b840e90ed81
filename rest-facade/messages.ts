/**
 * The requests and responses of the HTTP server, made as Express wants them. It gives every request and response the
 * prototype of its application, and an object whose prototype is changed makes Node's own HTTP code slow: a quote took
 * three times as long. Made with that prototype from the start, there is nothing left to change.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Express, Request, Response } from 'express'

export interface Messages {
  /** For `createServer`, which may come before the application. */
  options: { IncomingMessage: typeof IncomingMessage; ServerResponse: typeof ServerResponse }
  /** Makes them the application's own, before its first request. */
  adoptBy(app: Express): void
}

export function expressMessages(): Messages {
  // Of each server its own, because an application puts itself on their prototypes.
  class AppRequest extends IncomingMessage {}
  class AppResponse<From extends IncomingMessage = IncomingMessage> extends ServerResponse<From> {}
  return {
    options: { IncomingMessage: AppRequest, ServerResponse: AppResponse },
    adoptBy(app) {
      Object.setPrototypeOf(AppRequest.prototype, app.request)
      Object.setPrototypeOf(AppResponse.prototype, app.response)
      app.request = AppRequest.prototype as Request
      app.response = AppResponse.prototype as Response
    },
  }
}
