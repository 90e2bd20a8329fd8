import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';

/** The OpenAPI document of the running application, for whoever offers the same things in another way. Made when first asked for. */
@Injectable()
export class ApiDocument {
  private make: (() => OpenAPIObject) | null = null;
  private made: OpenAPIObject | null = null;

  describedBy(make: () => OpenAPIObject): void {
    this.make = make;
    this.made = null;
  }

  get(): OpenAPIObject {
    if (this.make === null) throw new Error('the application has no routes yet');
    return (this.made ??= this.make());
  }
}
