/**
 * Request and response classes for the HTTP server that already have the prototypes of Express. Otherwise Express
 * replaces the prototype of each request and response, and V8 accesses such objects slowly: the benchmark row `quote`
 * is more than 10 % slower with the classes of Node.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Express, Request, Response } from 'express'

/** `isFull` tells whether the next request of a connection is refused. The event `upgrade` then ends the connection. */
export function expressMessages(isFull: (socket: Socket) => boolean) {
  // One pair of classes per server, because `connectTo` changes their prototypes.
  class AppRequest extends IncomingMessage {
    readonly #isRefused: boolean

    constructor(socket: Socket) {
      super(socket)
      this.#isRefused = isFull(socket)
    }

    /**
     * Node reads it after the headers of a request. If it is true, Node stops the parser and emits `upgrade`, so that a
     * full connection is ended at once. Otherwise Node first parses all requests of one read, which has up to 64 KiB.
     */
    get upgrade(): boolean {
      return this.#isRefused
    }

    /** Node sets it for CONNECT, and for requests that ask for another protocol. They are answered like all others. */
    set upgrade(_: boolean) {}
  }
  class AppResponse<From extends IncomingMessage = IncomingMessage> extends ServerResponse<From> {}
  return {
    /** Options for `createServer`, which may be called before the application exists. */
    options: { IncomingMessage: AppRequest, ServerResponse: AppResponse },
    /** Connects the classes with an application. Must be called before its first request. */
    connectTo(app: Express): void {
      Object.setPrototypeOf(AppRequest.prototype, app.request)
      Object.setPrototypeOf(AppResponse.prototype, app.response)
      app.request = AppRequest.prototype as unknown as Request
      app.response = AppResponse.prototype as Response
    },
  }
}
