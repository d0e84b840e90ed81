/** Registers a route: its path as contract 4.7 matches it, and the refusals of other methods and of invalid URLs. */
import type { Express, RequestHandler } from 'express'
import { matcherOf } from '../agent/operation/resource.ts'
import { refuse } from '../agent/transport/http/response.ts'

export interface RegisteredRoute {
  /** The methods, as `Allow` has them. */
  allow: 'GET' | 'GET, HEAD' | 'POST'
  path: string
  /** Whether it reads nothing from the URL (contract 4.7.2). */
  ignoresUrl?: boolean
}

export function addRoute(app: Express, route: RegisteredRoute, handler: RequestHandler): void {
  const { allow, path, ignoresUrl = false } = route
  const methods = allow.split(', ')
  const checkMethod: RequestHandler = (request, response, next) =>
    methods.includes(request.method) ? next() : refuse(response, { code: 'method_not_allowed', allow })
  const checks = ignoresUrl ? [refuseInvalidEncoding, checkMethod] : [checkMethod]
  app.route(matcherOf(path)).all(...checks, handler)
}

/** Refuses a `%` without two hexadecimal digits. Routes that read the URL have codes of their own for it. */
export const refuseInvalidEncoding: RequestHandler = (request, response, next) => {
  if (/%(?![0-9a-f]{2})/i.test(request.originalUrl)) refuse(response, { code: 'malformed_request' })
  else next()
}
