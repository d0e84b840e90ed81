/** The request and response classes of the HTTP server. */
import { createServer } from 'node:http'
import express from 'express'
import { expect } from 'chai'
import { expressMessages } from '../../rest-facade/messages.ts'
import { listen } from '../support/listen.ts'

describe('the request and response classes', () => {
  async function serve(name: string) {
    const app = express()
    app.get('/', (request, response) => {
      response.json({ name: (request.app as { locals: { name?: string } }).locals.name, host: request.get('Host') })
    })
    app.locals['name'] = name
    const messages = expressMessages()
    const hadPrototype: boolean[] = []
    const server = createServer(messages.options, (request, response) => {
      hadPrototype.push(Object.getPrototypeOf(request) === app.request)
      hadPrototype.push(Object.getPrototypeOf(response) === app.response)
      app(request, response)
    })
    messages.connectTo(app)
    return { ...(await listen(server)), hadPrototype }
  }

  it('have the prototypes of their application before Express sees them', async () => {
    const servers = { one: await serve('one'), other: await serve('other') }
    for (const [name, server] of Object.entries(servers)) {
      const { url, hadPrototype } = server
      const response = await fetch(url)
      expect(await response.json()).to.deep.equal({ name, host: new URL(url).host })
      expect(response.headers.get('ETag')).to.be.a('string')
      expect(hadPrototype).to.deep.equal([true, true])
      server.close()
    }
  })
})
